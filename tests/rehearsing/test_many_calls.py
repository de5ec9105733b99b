"""Runs of very many calls, whose trials have one turn of each loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.commands.check import fix_trials
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

items = [(torch.randn(6), torch.rand(1 + n % 3, 4)) for n in range(24)]


def collate(batch):
    rows, boxes = zip(*batch)
    return torch.stack(rows), list(boxes)


net = nn.Linear(6, 4)
optimizer = torch.optim.Adam(net.parameters())
losses = []
for epoch in range(4):
    for rows, boxes in DataLoader(items, batch_size=8):
        loss = 0.0
        for row, some in zip(net(rows), boxes):
            loss = loss + (row - some).abs().mean() + some[row[:1] > 0].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
"""


@pytest.mark.long
def test_what_stands_behind_an_error_of_many_calls_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fix_trials, "MANY_CALLS", 20)
    findings = rehearsed(tmp_path, SCRIPT).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert errors[0].code == "items-do-not-stack"
    assert "collate_fn=collate)" in errors[0].fixes[0].message
    assert len(errors) == 2
    assert "row[:1]" in SCRIPT.splitlines()[errors[1].line - 1]
