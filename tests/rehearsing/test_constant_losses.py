"""Losses that are a new constant in one branch: a zero of the predictions instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    import torch.nn.functional as F
    from torch import nn
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    def loss_of(pred, y):
        found = y >= 0
        {loss}
    for step in range(4):
        y = torch.randint(0, 3, (8,)) if step % 2 == 0 else torch.full((8,), -1)
        loss = loss_of(net(torch.randn(8, 4)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
INDENT = "\n        "


@pytest.mark.parametrize(
    ("lines", "where", "first"),
    [
        (["if found.any():", "    loss = F.cross_entropy(pred[found], y[found])",
          "else:", "    loss = torch.tensor(0.0)", "return loss"],
         "where `found.any()` does not hold", "`pred.sum() * 0`"),
        (["if not found.any():", "    return torch.zeros(())",
          "return F.cross_entropy(pred[found], y[found])"],
         "where `not found.any()` holds", "`pred.sum() * 0`"),
        (["return F.cross_entropy(pred, y) if found.any() else torch.tensor(0.0)"],
         "where `found.any()` does not hold", "`pred.sum() * 0`"),
        (["logits = pred.float()", "if found.any():",
          "    loss = F.cross_entropy(logits, y)",
          "else:", "    loss = logits.new_zeros(1)", "return 2.0 * loss.sum()"],
         "where `found.any()` does not hold", "`logits.sum() * 0`"),
    ],
    ids=["else", "early return", "conditional expression", "of another"],
)  # fmt: skip
def test_a_zero_of_the_predictions_is_suggested(
    lines: list[str], where: str, first: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(loss=INDENT.join(lines)))
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert finding.code == "graph-cut"
    assert finding.message.endswith(where)
    assert [fix.message for fix in finding.fixes if fix.checked] == [first]


@pytest.mark.parametrize(
    "lines",
    [
        ["return torch.tensor(0.0)"],
        ["return F.cross_entropy(pred, y) if found.any() else torch.tensor(1.0)"],
    ],
    ids=["nothing else", "no zero"],
)
def test_no_zero_stands_for_a_loss_that_nothing_computes(
    lines: list[str], tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(loss=INDENT.join(lines)))
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert "is a new constant" in finding.message
    assert finding.fixes == ()


@pytest.mark.parametrize(
    "lines",
    [
        ["loss = torch.tensor(0.0)", "for at in range(3):",
         "    loss = loss + F.cross_entropy(pred[at], y[at].clamp(min=0))",
         "return loss"],
        ["if found.any():", "    return F.cross_entropy(pred[found], y[found])",
         "return pred.sum() * 0"],
    ],
)  # fmt: skip
def test_a_constant_may_be_added_to(lines: list[str], tmp_path: Path) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(loss=INDENT.join(lines)))
    assert [f for f in report.findings if f.severity == "error"] == []
