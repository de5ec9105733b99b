"""Attention outputs of (batch * heads) that are viewed as (heads, batch): the first
view is told, not the one that reads what it has mixed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import VIEW_MIXES_DIMS
from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    from torch import nn
    class Attention(nn.Module):
        def __init__(self, dim=32, heads=4):
            super().__init__()
            self.heads, self.width = heads, dim // heads
            self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        def cut(self, x):
            b, t, _ = x.shape
            x = x.view(b, t, self.heads, self.width).transpose(1, 2)
            return x.reshape(b * self.heads, t, self.width)
        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (self.cut(part) for part in self.qkv(x).chunk(3, -1))
            out = torch.bmm((q @ k.mT / self.width**0.5).softmax(-1), v)
            {join}
            return self.out(out)
    net = Attention()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        loss = (net(torch.randn(6, 12, 32)) - torch.randn(6, 12, 32)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """
INDENT = "\n            "
WRONG = "out = out.view(self.heads, b, t, self.width)"


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        ([WRONG, "out = out.transpose(1, 2).contiguous().view(b, t, -1)"],
         "`out.view(b, self.heads, t, self.width)`"),
        ([WRONG, "out = out.permute(0, 2, 1, 3)", "out = out.reshape(b, t, -1)"],
         "`out.view(b, self.heads, t, self.width)`"),
        ([WRONG, "out = out.permute(1, 2, 0, 3).reshape(b, t, -1)"],
         "`out.view(b, self.heads, t, self.width).transpose(0, 1)`"),
    ],
    ids=["as after the right view", "in two lines", "as after a transpose"],
)  # fmt: skip
def test_the_first_view_is_told(lines: list[str], first: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(join=INDENT.join(lines)))
    (finding,) = (f for f in report.findings if f.code == VIEW_MIXES_DIMS)
    assert "(24, 12, 8) to (4, 6, 12, 8)" in finding.message
    assert next(fix.message for fix in finding.fixes if fix.checked) == first


@pytest.mark.parametrize(
    "lines",
    [
        ["out = out.view(b, self.heads, t, self.width).transpose(1, 2)",
         "out = out.reshape(b, t, -1)"],
        ["out = out.view(b, self.heads, t, self.width).transpose(0, 1)",
         "out = out.permute(1, 2, 0, 3).reshape(b, t, -1)"],
    ],
)  # fmt: skip
def test_heads_behind_their_batch_are_right(lines: list[str], tmp_path: Path) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(join=INDENT.join(lines)))
    assert [f for f in report.findings if f.code == VIEW_MIXES_DIMS] == []
