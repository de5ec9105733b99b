"""Random tensors that a state dict does not hold, where another model loads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import math
import torch
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        {drawn}

    def forward(self, x):
        angles = 2 * math.pi * x @ self.B
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.head = Features(), nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.encode(x))


field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=0.1)
for step in range(2):
    loss = field(torch.rand(8, 2)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
{load}
"""
LOAD = """\
other = Field()
other.load_state_dict(field.state_dict())
print(other(torch.rand(8, 2)))"""
FILE = """\
torch.save(field.state_dict(), "field.pt")
other = Field()
other.load_state_dict(torch.load("field.pt"))"""
WRONG = {
    "scaled": ("self.B = torch.randn(2, 8) * 3.0", LOAD),
    "scaled in front": ("self.B = 3.0 * torch.randn(2, 8)", LOAD),
    "a file": ("self.B = torch.rand(2, 8)", FILE),
    "a distribution": ("self.B = torch.randn((2, 8))", LOAD),
}
RIGHT = {
    "a buffer": ('self.register_buffer("B", torch.randn(2, 8))', LOAD),
    "the same model": (
        "self.B = torch.randn(2, 8)",
        "field.load_state_dict(field.state_dict())",
    ),
    "a generator": (
        "self.B = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))",
        LOAD,
    ),
    "no random numbers": ("self.B = torch.ones(2, 8) * 3.0", LOAD),
    "seeds": (
        "torch.manual_seed(3); self.B = torch.randn(2, 8)",
        "torch.manual_seed(3)\n" + LOAD,
    ),
}


def find_plain(folder: Path, drawn: str, load: str) -> list[Finding]:
    report = rehearsed(folder, SCRIPT.format(drawn=drawn, load=load))
    assert report.complete
    return [each for each in report.findings if each.code == "not-a-parameter"]


@pytest.mark.parametrize("case", WRONG)
def test_what_no_state_dict_has_is_told(case: str, tmp_path: Path) -> None:
    (finding,) = find_plain(tmp_path, *WRONG[case])
    (fix,) = [each for each in finding.fixes if each.checked]
    value = WRONG[case][0].removeprefix("self.B = ")
    assert fix.message == f'`self.register_buffer("B", {value})`'


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_loaded_is_quiet(case: str, tmp_path: Path) -> None:
    assert not find_plain(tmp_path, *RIGHT[case])
