"""Views that put patches in front of the times they belong to: `(B, T, P, ...)` to
`(B * P, T, ...)` without a transpose.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(32, 2, 4, 3, 8, 8), torch.rand(32, 4))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 1, 3)

    def forward(self, x):
        first, second = self.conv(x[:, 0]), self.conv(x[:, 1])
        return (first - second).abs().mean((1, 2, 3))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=8):
    {line}
    loss = (model(x) - y.reshape(-1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SIZES = "b, t, p = x.shape[:3]\n    "
WRONG = {
    "a slice of the shape": SIZES + "x = x.reshape(b * p, t, *x.shape[3:])",
    "all sizes":
        "b, t, p, c, h, w = x.shape\n    x = x.reshape(b * p, t, c, h, w)",
    "a view": SIZES + "x = x.view(b * p, t, *x.shape[3:])",
}  # fmt: skip
RIGHT = {
    "a transpose": SIZES + "x = x.transpose(1, 2).reshape(b * p, t, *x.shape[3:])",
    "another shape":
        SIZES + "x = x.reshape(b, t * p, *x.shape[3:])[:, :2]"
        ".repeat(4, 1, 1, 1, 1)",
    "before":
        "x = x.transpose(1, 2)\n    b, p, t = x.shape[:3]\n"
        "    x = x.reshape(b * p, t, *x.shape[3:])",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_view_without_a_transpose_is_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(line=WRONG[name]))
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "view-mixes-dims"]
    (fix,) = finding.fixes
    assert fix.message.startswith("`x.transpose(1, 2).reshape(b * p, t, ")
    assert fix.checked


@pytest.mark.parametrize("name", RIGHT)
def test_other_views_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(line=RIGHT[name]))
    assert report.complete, report
    assert "view-mixes-dims" not in [f.code for f in report.findings]
