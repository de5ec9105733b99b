"""Entries of -1 that are clamped to 0 and overwrite a valid place 0."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(6, 8)

    def forward(self, x):
        score = self.q(x)
        values, index = score.topk(3, dim=-1)
        index = index.masked_fill(values < 0, -1)
        mask = torch.zeros(len(x), 8{dtype})
{body}
        return score * mask


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(16, 6)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "clamp": (True, "mask.scatter_(-1, index.clamp(min=0), index != -1)"),
    "names": (True, "safe = index.clamp(0)\nvalid = index >= 0\n"
                    "mask = mask.scatter(1, safe, valid)"),
    "floats": (False, "mask.scatter_(1, index.clamp_min(0), (index > -1).float())"),
    "relu": (False, "mask.scatter_(1, index.relu(), (index >= 0).float())"),
}  # fmt: skip
RIGHT = {
    "one more column": (True, "wide = torch.zeros(len(x), 9, dtype=torch.bool)\n"
                              "index = index.masked_fill(index < 0, 8)\n"
                              "wide.scatter_(1, index, True)\n"
                              "mask = wide[:, :8]"),
    "added": (False, "mask.scatter_add_(1, index.clamp(min=0), (index >= 0).float())"),
    "reduced": (False, "mask = mask.scatter_reduce(\n"
                       "    1, index.clamp(min=0), (index >= 0).float(), 'amax')"),
    "values": (False, "mask.scatter_(1, index.clamp(min=0), values)"),
    "other entries": (True, "mask.scatter_(1, index.clamp(min=0), values > 0.5)"),
}  # fmt: skip


def find_codes(folder: Path, is_bool: bool, body: str) -> list[str]:
    dtype = ", dtype=torch.bool" if is_bool else ""
    text = SCRIPT.format(dtype=dtype, body=indent(body, " " * 8))
    report = rehearsed(folder, text)
    assert report.complete, report
    return [f.code for f in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_entries_that_overwrite_the_first_place_are_found(
    name: str, tmp_path: Path
) -> None:
    assert find_codes(tmp_path, *WRONG[name]) == ["repeated-index"]


@pytest.mark.parametrize("name", RIGHT)
def test_other_writes_are_quiet(name: str, tmp_path: Path) -> None:
    assert "repeated-index" not in find_codes(tmp_path, *RIGHT[name])
