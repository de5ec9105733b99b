"""A name that what is pooled for a readout takes from the next layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

def pool(x, owner):
    return x.new_zeros(3, x.size(1)).index_add(0, owner, x)

class Conv(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, 8)

    def forward(self, x, edges):
        source, target = edges
        return self.lin(x + torch.zeros_like(x).index_add(0, target, x[source]))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = Conv(4), Conv(8)
        self.out = nn.Linear({width}, 1)

    def forward(self, x, edges, owner):
{body}

x, owner = torch.randn(9, 4), torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2])
edges = torch.tensor([[0, 1, 2, 4, 5, 7], [1, 2, 0, 5, 4, 8]])
Net()(x, edges, owner).sum().backward()
"""
OVERWRITTEN = """\
        a = self.conv1(x, edges)
        a = pool(a, owner)
        b = self.conv2(a, edges)
        b = pool(b, owner)
        return self.out(torch.cat([a, b], dim=1))
"""
KEPT = """\
        a = self.conv1(x, edges)
        first = pool(a, owner)
        b = self.conv2(a, edges)
        b = pool(b, owner)
        return self.out(torch.cat([first, b], dim=1))
"""
UNREAD = """\
        a = self.conv1(x, edges)
        a = pool(a, owner)
        b = self.conv2(a, edges)
        return self.out(pool(b, owner))
"""


def find_errors(folder: Path, body: str, width: int = 16) -> list[Finding]:
    text = PROGRAM.replace("{body}", body).replace("{width}", str(width))
    return [f for f in rehearsed(folder, text).findings if f.severity == "error"]


def test_what_is_pooled_gets_a_name_of_its_own(tmp_path: Path) -> None:
    errors = find_errors(tmp_path, OVERWRITTEN)
    shown = "`a_pooled = pool(a, owner)`, which the next layer does not get"
    assert errors[0].fixes[0].message == shown
    assert errors[0].fixes[0].checked
    assert [edit.text for edit in errors[0].fixes[0].edits] == ["a_pooled"] * 2


@pytest.mark.long
@pytest.mark.parametrize(("body", "width"), [(KEPT, 16), (UNREAD, 8)])
def test_other_names_stay(body: str, width: int, tmp_path: Path) -> None:
    errors = find_errors(tmp_path, body, width)
    assert bool(errors) == (body == UNREAD)
    assert not any("_pooled" in fix.message for e in errors for fix in e.fixes)
