"""Rows of padding that are drawn anew, where the rows of a sequence are added up."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8{padding})
        self.head = nn.Linear(8, 2)
        {own}

    def init(self, m):
        if isinstance(m, nn.Embedding):
            nn.init.normal_(m.weight)

    def forward(self, ids):
        return self.head({use})


model = Bag()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.randint(0, 20, (4, 7))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SUM = "self.words(ids).sum(dim=1)"
ZERO = "`nn.init.zeros_(self.words.weight[self.words.padding_idx])`"


def write(own: str, use: str = SUM, padding: str = ", padding_idx=0") -> str:
    return SCRIPT.format(own=own, use=use, padding=padding)


WRONG = {
    "uniform": (write("nn.init.uniform_(self.words.weight, -0.5, 0.5)"), ZERO),
    "data": (write("self.words.weight.data.normal_(0, 0.1)"), ZERO),
    "xavier": (write("torch.nn.init.xavier_uniform_(self.words.weight)"), ZERO),
    "a mean": (
        write("nn.init.normal_(self.words.weight)", "self.words(ids).mean(1)"),
        ZERO,
    ),
    "applied": (
        write("self.apply(self.init)"),
        "`nn.init.zeros_(m.weight[m.padding_idx])`",
    ),
}
NORMAL = "nn.init.normal_(self.words.weight)"
RIGHT = {
    "zero again": write(f"{NORMAL}; self.words.weight.data[0] = 0"),
    "filled": write(f"{NORMAL}; nn.init.zeros_(self.words.weight[0])"),
    "no padding": write(NORMAL, padding=""),
    "not drawn": write("pass"),
    "another layer": write("nn.init.normal_(self.head.weight)"),
    "masked": write(NORMAL, "(self.words(ids) * (ids != 0)[..., None]).sum(1)"),
}


def find_rows(folder: Path, text: str) -> list[Finding]:
    report = rehearsed(folder, text)
    assert report.complete
    return [each for each in report.findings if each.code == "loaded-weights-lost"]


@pytest.mark.parametrize("case", WRONG)
def test_a_drawn_row_of_padding_is_told(case: str, tmp_path: Path) -> None:
    text, fix = WRONG[case]
    (finding,) = find_rows(tmp_path, text)
    assert "row of padding" in finding.message
    fixes = [each.message for each in finding.fixes if each.checked]
    assert fixes == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_rows_without_effect_are_quiet(case: str, tmp_path: Path) -> None:
    assert not find_rows(tmp_path, RIGHT[case])
