"""Dims that a call reduced, joined or dropped where another one was meant, and what
has the size of channels by accident.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

"""
CASES = {
    "tensors that are joined along the batch": (
        """\
reduce = nn.Conv2d(16, 4, 1)
maps, detail = torch.randn(2, 8, 6, 6), torch.randn(2, 8, 6, 6)
reduce(torch.cat([maps, detail])).sum().backward()
""",
        "`torch.cat([maps, detail], dim=1)`",
    ),
    "a deviation without its dim": (
        """\
series = torch.randn(8, 3, 24)
mean = series.mean(-1, keepdim=True)
scaled = (series - mean) / (series.std(-1) + 1e-5)
""",
        "`series.std(-1, keepdim=True)`",
    ),
    "a scale of another dim": (
        """\
class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(5, 8)

    def forward(self, past, kind):
        scale = past.abs().mean(0, keepdim=True).clamp(min=1e-3)
        return torch.cat([self.embed(kind), scale.log()], dim=-1)


Forecast()(torch.rand(16, 24), torch.rand(16, 5))
""",
        "`past.abs().mean(1, keepdim=True)`",
    ),
    "keys that are summed over the heads": (
        """\
q, k = torch.rand(2, 4, 10, 8), torch.rand(2, 4, 10, 8)
norm = torch.einsum("bhnd,bhd->bhn", q, k.sum(dim=1))
""",
        "`k.sum(dim=2)`",
    ),
    "predictions that keep their steps": (
        """\
head, states = nn.Linear(12, 30), torch.randn(4, 9, 12)
target = torch.randint(30, (4, 9))
scores = head(states)
F.cross_entropy(scores, target.reshape(-1)).backward()
""",
        "`scores.reshape(-1, scores.size(-1))`",
    ),
    "a weight with its rows as columns": (
        """\
down = nn.Parameter(torch.randn(20, 6))
print(F.linear(torch.randn(4, 20), down).shape)
""",
        "`down.t()`",
    ),
    "columns of floats that are indices": (
        """\
grid, hits = torch.rand(16, 16, 5), torch.rand(7, 4)
cells = hits[:, 2:4]
columns, rows = cells.T
print(grid[rows, columns].shape)
""",
        "`cells.T.long()`",
    ),
    "a layer that was to read in both directions": (
        """\
class Tagger(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.LSTM(8, hidden, batch_first=True)
        self.head = nn.Linear(hidden * 2, 3)

    def forward(self, x):
        return self.head(self.rnn(x)[0].mean(1))


Tagger()(torch.randn(4, 7, 8)).sum().backward()
""",
        "`nn.LSTM(8, hidden, batch_first=True, bidirectional=True)`",
    ),
    "a feature that the data does not have": (
        "head, times = nn.Linear(2, 8), torch.rand(4)\nhead(times[:, None])\n",
        "`nn.Linear(1, 8)`",
    ),
    "channels of the size of the map": (
        """\
body = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.Conv2d(32, 8, 3, padding=1),
)
body(torch.randn(2, 3, 32, 32))
""",
        "`nn.Conv2d(16, 8, 3, padding=1)`",
    ),
    "a norm of the size of the map": (
        """\
body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(32))
body(torch.randn(2, 3, 32, 32))
""",
        "`nn.BatchNorm2d(16)`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_what_was_meant(name: str, tmp_path: Path) -> None:
    program, fix = CASES[name]
    report = rehearsed(tmp_path, HEAD + program)
    error = next(finding for finding in report.findings if finding.severity == "error")
    checked = [entry.message for entry in error.fixes if entry.checked]
    assert checked[:1] == [fix]


def test_a_map_with_its_channels_last_is_still_told(tmp_path: Path) -> None:
    program = "nn.Conv2d(3, 8, 3)(torch.rand(2, 32, 32, 3))\n"
    report = rehearsed(tmp_path, HEAD + program)
    assert report.findings[0].code == "channels-last"
