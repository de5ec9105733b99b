"""Networks that are trained with scaled steps and asked about raw ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import UNEQUAL_TRANSFORMS
from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    from torch import nn
    steps, labels = 50, 10
    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 2)
        def forward(self, x, t):
            return self.net(torch.cat([x, t.float().view(-1, 1)], 1))
    field = Field()
    optimizer = torch.optim.SGD(field.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2)
        {trained}
        loss = (field(x, {known}) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        x = torch.randn(8, 2)
        {loop}
            {made}
            x = field(x, {asked})
    """
DRAWN = "t = torch.randint(0, steps, (8,))"
DOWN = "for i in reversed(range(steps)):"
FULL = "t = torch.full((8,), float(i))"


@pytest.mark.parametrize(
    ("values", "numbers", "edit"),
    [
        ({"known": "t.float() / steps"}, "from 0 to 0.98, and asked with 0 to 49",
         "`i / steps`"),
        ({"known": "t / steps", "asked": "torch.ones(8) * i"}, "asked with 0 to 49",
         "`torch.ones(8) * i / steps`"),
        ({"known": "t", "trained": DRAWN + " / (steps - 1)",
          "made": "t = torch.tensor([i]).repeat(8)"}, "from 0 to 1, and",
         "`t / (steps - 1)`"),
        ({"trained": "t = torch.rand(8)"}, "from 0 to 1, and asked with 0 to 49",
         "`i / steps`"),
        ({"trained": "t = torch.rand(8)", "known": "t * 1000",
          "made": "t = torch.full((8,), i / steps)"}, "from 0 to 1000, and asked with",
         "`i / steps * 1000`"),
        ({"asked": "t / steps"}, "from 0 to 49, and asked with 0 to 0.98", "`t`"),
    ],
    ids=["full", "ones", "in the loop", "flow", "product", "raw in training"],
)  # fmt: skip
def test_steps_of_two_scales(
    values: dict[str, str], numbers: str, edit: str, tmp_path: Path
) -> None:
    ((message, fix),) = _find(tmp_path, values)
    assert message.startswith("`Field` is trained with `t` from ")
    assert numbers in message
    assert fix == edit


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"known": "t / steps", "asked": "t / steps"},
        {"known": "t / steps", "made": "t = torch.full((8,), i / steps)"},
        {"trained": "t = torch.rand(8)",
         "loop": "for i in torch.linspace(0, 1, steps):",
         "made": "t = i.expand(8)"},
        # beyond the times of the training, on purpose
        {"trained": "t = torch.rand(8)",
         "loop": "for i in torch.linspace(0, 10, steps):",
         "made": "t = i.expand(8)"},
        # the first two of ten labels
        {"trained": "t = torch.randint(0, labels, (8,))", "loop": "for i in (0, 1):",
         "made": "t = torch.full((8,), i)"},
        # a single value says nothing about its scale
        {"known": "t / steps", "loop": "for i in (9, 9):"},
        {"known": "t / steps", "loop": "for i in range(0, 3):"},
        # noise of another kind has no largest value
        {"trained": "t = torch.randn(8).exp()"},
    ],
    ids=["raw", "scaled", "scaled values", "grid", "beyond", "labels", "one value",
         "a few steps", "unknown"],
)  # fmt: skip
def test_steps_of_one_scale(values: dict[str, str], tmp_path: Path) -> None:
    assert _find(tmp_path, values) == []


def _find(tmp_path: Path, values: dict[str, str]) -> list[tuple[str, str]]:
    """Return the warnings of a program, each with its edit that helped."""
    lines = {"trained": DRAWN, "known": "t", "loop": DOWN, "made": FULL, "asked": "t"}
    report = rehearsed(tmp_path, PROGRAM.format(**{**lines, **values}))
    return [
        (f.message, next((fix.message for fix in f.fixes if fix.checked), ""))
        for f in report.findings
        if f.code == UNEQUAL_TRANSFORMS
    ]
