"""Steps that a program writes itself: their gradients pile up like an optimizer's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

MODEL = """\
    import torch
    from torch import nn

    x, y = torch.randn(12, 6), torch.randn(12, 1)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    speeds = [torch.zeros_like(p) for p in model.parameters()]
    for step in range(40):
        {before}
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        {scale}
        for p, speed in zip(model.parameters(), speeds):
            with torch.no_grad():
                {update}
"""

UPDATES = (
    "p.data.add_(p.grad, alpha=-0.1)",
    "p.data.add_(-0.1 * p.grad)",
    "p -= 0.1 * p.grad",
    "p.sub_(p.grad.mul(0.1))",
    "p.data = p.data - 0.1 * p.grad",
    "p.copy_(p - 0.1 * p.grad)",
    "speed.mul_(0.9).add_(p.grad); p.sub_(speed, alpha=0.1)",
)

CLEARED = (
    "model.zero_grad()",
    "model.zero_grad(set_to_none=False)",
    "[p.grad.zero_() for p in model.parameters() if p.grad is not None]",
    "[p.grad.mul_(0.9) for p in model.parameters() if p.grad is not None]",
    "[setattr(p, 'grad', None) for p in model.parameters()]",
)


def written(update: str, before: str = "pass", scale: str = "pass") -> str:
    return MODEL.format(update=update, before=before, scale=scale)


@pytest.mark.parametrize("update", UPDATES)
def test_gradients_that_no_step_by_hand_clears_are_found(
    tmp_path: Path, update: str
) -> None:
    (found,) = rehearsed(tmp_path, written(update)).findings
    assert found.code == "gradients-not-cleared"
    assert found.span is not None
    assert found.span.line == 10
    assert {each.span.line for each in found.related} == {14}
    assert "update by hand" in found.message


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("before", CLEARED)
def test_gradients_that_are_cleared_are_no_finding(
    tmp_path: Path, update: str, before: str
) -> None:
    assert rehearsed(tmp_path, written(update, before)).findings == ()


def test_scaled_gradients_pile_up_all_the_same(tmp_path: Path) -> None:
    scale = "[p.grad.div_(12) for p in model.parameters()]"
    (found,) = rehearsed(tmp_path, written(UPDATES[0], scale=scale)).findings
    assert found.code == "gradients-not-cleared"


LEAVES = """\
    import torch

    x, y = torch.randn(12, 6), torch.randn(12, 1)
    w = torch.randn(6, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)


    def sgd(params, lr):
        with torch.no_grad():
            for param in params:
                param -= lr * param.grad / 12
                {clear}


    for step in range(40):
        ((x @ w + b - y) ** 2).mean().backward()
        sgd([w, b], 0.1)
"""


def test_leaves_without_a_model_are_watched_too(tmp_path: Path) -> None:
    (found,) = rehearsed(tmp_path, LEAVES.format(clear="pass")).findings
    assert found.code == "gradients-not-cleared"
    assert found.span is not None
    assert (found.span.line, found.related[0].span.line) == (16, 11)


def test_leaves_whose_gradients_are_set_to_zero_are_quiet(tmp_path: Path) -> None:
    text = LEAVES.format(clear="param.grad.zero_()")
    assert rehearsed(tmp_path, text).findings == ()


def test_a_step_after_several_passes_uses_old_gradients_too(tmp_path: Path) -> None:
    after = (
        "\n        if step % 3 == 2:"
        "\n            for p in model.parameters():"
        "\n                p.data.sub_(p.grad)"
    )
    text = GATHERED.format(before="pass", after=after).replace("40", "39")
    (found,) = rehearsed(tmp_path, text).findings
    assert found.code == "gradients-not-cleared"


GATHERED = """\
    import torch
    from torch import nn

    x, y = torch.randn(12, 6), torch.randn(12, 1)
    model = nn.Linear(6, 1)
    {before}
    for step in range(40):
        nn.functional.mse_loss(model(x), y).backward()
        {after}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (  # several passes, one step
            "pass",
            "\n        if step % 3 == 2:"
            "\n            for p in model.parameters():"
            "\n                p.data.sub_(p.grad); p.grad = None",
        ),
        (  # an optimizer has them; weights are clipped besides
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
            "optimizer.step(); optimizer.zero_grad()"
            "\n        for p in model.parameters(): p.data.clamp_(-1, 1)",
        ),
        (  # gradients are only looked at
            "pass",
            "norm = sum(p.grad.norm() for p in model.parameters())"
            "\n        for p in model.parameters(): p.data.clamp_(-1, 1)",
        ),
    ],
)
def test_what_only_looks_like_it_is_quiet(
    tmp_path: Path, before: str, after: str
) -> None:
    text = GATHERED.format(before=before, after=after)
    assert rehearsed(tmp_path, text).findings == ()
