"""`ctc_loss`, which torch cannot run without data, on small and on large operands."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import shapewright as sw


def compute(reduction: str, zero_infinity: bool) -> Any:
    """A function of its four tensors."""

    def loss(log_probs: Any, targets: Any, steps: Any, lengths: Any) -> Any:
        return F.ctc_loss(
            log_probs, targets, steps, lengths,
            reduction=reduction, zero_infinity=zero_infinity,
        )  # fmt: skip

    return loss


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_a_large_loss_is_that_of_a_small_one(
    reduction: str, zero_infinity: bool
) -> None:
    loss = compute(reduction, zero_infinity)
    small = torch.randn(40, 6, 9, requires_grad=True)
    targets, steps = torch.randint(1, 9, (6, 5)), torch.full((6,), 40)
    real = loss(small.log_softmax(-1), targets, steps, torch.full((6,), 5))
    large = torch.empty(1600, 6, 5000, device="meta", requires_grad=True)
    long = torch.empty(6, dtype=torch.long, device="meta")
    wide = torch.empty(6, 5, dtype=torch.long, device="meta")
    traced = sw.trace(loss, large, wide, long, long)
    assert traced.complete
    assert traced.output.shape == tuple(real.shape)
    assert traced.output.dtype == "float32"
    assert traced.output.grad_fn == real.grad_fn.name()


def test_wrong_lengths_are_refused_at_every_size() -> None:
    for times, classes in ((40, 9), (1600, 5000)):
        spec = f"f32[{times}, 6, {classes}], i64[6, 5], i64[5], i64[6]"
        (finding,) = sw.check(compute("mean", False), spec).findings
        assert "a length for each" in finding.message


def test_an_operator_without_a_kernel_is_our_question_and_no_error_of_theirs() -> None:
    report = sw.check(lambda a: torch.linalg.lstsq(a, a).solution, "f32[4000, 300]")
    (finding,) = report.findings
    assert finding.code == "not-here"
    assert "torch cannot run `torch.linalg.lstsq`" in finding.message
