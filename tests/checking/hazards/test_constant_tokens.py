"""Tables of positions and tokens that are plain attributes of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 8)
        MADE
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        h = self.embed(x)
        READ
        return self.head(h.mean(1))


model = Encoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(8, 5, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ADDED = "h = h + self.position"
JOINED = "h = torch.cat([self.cls_token.expand(8, -1, -1), h], dim=1)"


@pytest.mark.parametrize(
    ("made", "read", "edit"),
    [
        ("self.position = torch.zeros(1, 5, 8)", ADDED,
         "`nn.Parameter(torch.zeros(1, 5, 8))`"),
        ("self.cls_token = torch.randn(1, 1, 8)", JOINED,
         "`nn.Parameter(torch.randn(1, 1, 8))`"),
    ],
)  # fmt: skip
def test_a_table_that_nothing_trains(
    made: str, read: str, edit: str, tmp_path: Path
) -> None:
    text = SCRIPT.replace("MADE", made).replace("READ", read)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-a-parameter"
    assert finding.fixes[0].message == edit


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("self.position = nn.Parameter(torch.zeros(1, 5, 8))", ADDED),
        ("self.position = torch.zeros(1, 5, 8); self.position[0, :, 0] = 1.0", ADDED),
        ("self.register_buffer('position', torch.randn(1, 5, 8))", ADDED),
        ("self.fixed_position = torch.zeros(1, 5, 8)", "h = h + self.fixed_position"),
    ],
)
def test_tables_that_are_set_or_fixed(made: str, read: str, tmp_path: Path) -> None:
    text = SCRIPT.replace("MADE", made).replace("READ", read)
    assert not rehearsed(tmp_path, text).findings
