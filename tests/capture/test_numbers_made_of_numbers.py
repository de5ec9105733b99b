"""Tensors that torch makes of plain numbers alone are known, as in a real run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import shapewright as sw

CALLS: dict[str, Callable[[int], Any]] = {
    "div": lambda n: torch.div(n, 4, rounding_mode="trunc"),
    "true_divide": lambda n: torch.true_divide(n, 4).int(),
    "floor_divide": lambda n: torch.floor_divide(n, 4),
    "add": lambda n: torch.add(n, 4),
    "sub": lambda n: torch.sub(n, 4, alpha=2),
    "mul": lambda n: torch.mul(n, 4),
}


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
@pytest.mark.parametrize("name", CALLS)
def test_a_size_computed_of_numbers_is_a_size(name: str, mode: Any) -> None:
    def chunks(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        count = CALLS[name](x.size(1))
        return count, x.new_zeros(count, 2)

    with mode():
        trace = sw.trace(chunks, "f32[2, 16]")
    real = chunks(torch.zeros(2, 16))
    assert trace.complete
    for ours, theirs in zip(trace.output, real, strict=True):
        assert (ours.shape, f"torch.{ours.dtype}") == (theirs.shape, str(theirs.dtype))
    assert not trace.assumptions


def test_it_lies_on_the_cpu_whatever_the_program_prefers() -> None:
    def made(x: torch.Tensor) -> torch.Tensor:
        with torch.device("cuda"):
            return torch.add(x.size(0), 1)

    assert sw.trace(made, "f32[2]").output.device == "cpu"
