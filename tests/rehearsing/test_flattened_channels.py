"""`(B, C, H, W)` viewed as `(-1, C)` before a loss, with the channels in dim 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(32, 3, 8, 6), torch.randint(0, 4, (32, 8, 6)))
net, line = nn.Conv2d(3, 4, 3, padding=1), nn.Conv1d(3, 4, 3, padding=1)
boxes = nn.Conv2d(3, 3 * 4, 3, padding=1)
optimizer = torch.optim.SGD([*net.parameters(), *line.parameters()], lr=0.1)
for x, y in DataLoader(data, batch_size=8):
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "view": "loss = F.cross_entropy(net(x).view(-1, 4), y.view(-1))",
    "reshape": "loss = F.cross_entropy(net(x).relu().reshape(-1, 4), y.reshape(-1))",
    "upsampled": (
        "z = F.interpolate(net(x), scale_factor=1); "
        "loss = F.cross_entropy(z.contiguous().view(-1, 4), y.flatten())"
    ),
    "log-probabilities": (
        "z = net(x).view(-1, 4); loss = F.nll_loss(z.log_softmax(1), y.view(-1))"
    ),
    "steps": (
        "loss = F.cross_entropy(line(x[..., 0]).view(-1, 4), y[..., 0].reshape(-1))"
    ),
}
RIGHT = {
    "moved": (
        "z = net(x).permute(0, 2, 3, 1); "
        "loss = F.cross_entropy(z.reshape(-1, 4), y.reshape(-1))"
    ),
    "not flattened": "loss = F.cross_entropy(net(x), y)",
    "flattened behind the channels": (
        "loss = F.cross_entropy(net(x).flatten(2), y.flatten(1))"
    ),
    "one pixel": (
        "z = F.adaptive_avg_pool2d(net(x), 1).view(-1, 4); "
        "loss = F.cross_entropy(z, y[:, 0, 0])"
    ),
    "one number for each channel": (
        "z = net(x[:, :, :1, :1]).view(-1, 4); loss = F.cross_entropy(z, y[:, 0, 0])"
    ),
    "boxes": (
        "z = boxes(x).view(8, 3, 4, 8, 6).permute(0, 1, 3, 4, 2); "
        "loss = F.cross_entropy(z.reshape(-1, 4), torch.zeros(8 * 3 * 48).long())"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_rows_of_pixels_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", WRONG[name]))
    codes = [each.code for each in report.findings]
    assert codes.count("view-mixes-dims") == 1


@pytest.mark.parametrize("name", RIGHT)
def test_rows_of_classes_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", RIGHT[name]))
    assert report.complete
    assert "view-mixes-dims" not in [each.code for each in report.findings]


PATCHES = """\
import torch
from torch import nn

p, channels = 4, {channels}
encode = nn.Linear(p * p * channels, 8)
x = torch.randn(2, channels, 12, 12)
windows = x.unfold(2, p, p).unfold(3, p, p)
rows = {rows}
encode(rows).sum().backward()
"""


@pytest.mark.parametrize(
    ("rows", "channels", "is_wrong"),
    [
        ("windows.contiguous().view(2, -1, p * p * channels)", 3, True),
        ("windows.reshape(2, 9, p * p * channels)", 3, True),
        ("windows.permute(0, 2, 3, 1, 4, 5).reshape(2, 9, p * p * channels)", 3, False),
        ("windows.contiguous().view(2, -1, p * p)", 1, False),
        (
            "windows.permute(0, 2, 3, 4, 5, 1).reshape(2, -1, p * p * channels)",
            3,
            False,
        ),
    ],
)
def test_patches_that_were_unfolded(
    rows: str, channels: int, is_wrong: bool, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, PATCHES.format(rows=rows, channels=channels))
    fixes = [
        fix.message
        for finding in report.findings
        if finding.code == "view-mixes-dims"
        for fix in finding.fixes
    ]
    assert bool(fixes) == is_wrong
    assert all(".permute(0, 2, 3, 1, 4, 5).reshape(2, " in fix for fix in fixes)


def test_no_edit_mixes_the_dims_in_another_way(tmp_path: Path) -> None:
    """`transpose(1, 2)` puts the rows behind the samples: the columns are the steps."""
    program = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 32, 3, padding=1)
        self.rnn = nn.GRU(128, 16, batch_first=True)

    def forward(self, x):
        f = self.conv(x)
        b, c, h, w = f.shape
        out, _ = self.rnn(f.view(b, w, c * h))
        return out[:, -1]

net = Net()
for (x,) in DataLoader(TensorDataset(torch.randn(80, 1, 4, 16)), 40):
    net(x).mean().backward()
"""
    findings = rehearsed(tmp_path, program).findings
    (found,) = [each for each in findings if each.code == "view-mixes-dims"]
    messages = [fix.message for fix in found.fixes]
    assert messages[0] == "`f.permute(0, 3, 1, 2).reshape(b, w, c * h)`"
    assert not any(".transpose(1, 2)" in message for message in messages)
