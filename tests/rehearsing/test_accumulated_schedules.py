"""Schedulers that step with each batch, with an optimizer that steps with some."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(64, 6), torch.randint(3, (64,)))
loader = DataLoader(data, 8, shuffle=True)
model = nn.Linear(6, 3)
STEPS = 4
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
{plan}
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y) / STEPS
        loss.backward()
        if (i + 1) % STEPS == 0:
            optimizer.step()
            {inside}
            optimizer.zero_grad()
        {behind}
"""
LINEAR = (
    "total = 2 * {count}\nscheduler = torch.optim.lr_scheduler.LambdaLR("
    "optimizer, lambda s: 1 - s / (total + 1))"
)
WARMUP = (
    "scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(s, 3) / 3)"
)
INSIDE = "`scheduler.step()` below `if (i + 1) % STEPS == 0:`"
WRONG = {
    "planned in batches": (
        LINEAR.format(count="len(loader)"),
        f"{INSIDE}, and `(len(loader) // STEPS)`",
    ),
    "planned in steps": (WARMUP, INSIDE),
}
RIGHT = {
    "inside": (WARMUP, "scheduler.step()", "pass"),
    "with each epoch": (
        WARMUP, "pass", "pass\n    scheduler.step()",
    ),
}  # fmt: skip


def _write(plan: str, inside: str, behind: str) -> str:
    return (
        TEXT.replace("{plan}", plan)
        .replace("{inside}", inside)
        .replace("{behind}", behind)
    )


@pytest.mark.parametrize("name", WRONG)
def test_a_schedule_that_runs_ahead_is_found(name: str, tmp_path: Path) -> None:
    plan, edit = WRONG[name]
    report = rehearsed(tmp_path, _write(plan, "pass", "scheduler.step()"))
    (finding,) = report.findings
    assert finding.code == "scheduler-order"
    assert "only where `(i + 1) % STEPS == 0`" in finding.message
    assert [fix.message for fix in finding.fixes if fix.checked] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_a_schedule_of_steps_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, _write(*RIGHT[name]))
    assert [finding.code for finding in report.findings] == []
