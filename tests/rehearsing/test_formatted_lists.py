"""The rates of a schedule, which are a list, formatted as one number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
losses = []
for epoch in range(3):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
    {line}
"""
WRONG = {
    "in a text": (
        'print(f"{loss.item():.3f} {scheduler.get_last_lr():.5f}")',
        "scheduler.get_last_lr()[0]",
    ),
    "with format": (
        'print("{:.3f} {:.2e}".format(loss.item(), scheduler.get_last_lr()))',
        "scheduler.get_last_lr()[0]",
    ),
    "with percent": (
        'print("%.3f %.5f" % (loss.item(), scheduler.get_last_lr()))',
        "scheduler.get_last_lr()[0]",
    ),
    "a name": ('lr = scheduler.get_last_lr()\n    print(f"{lr:.5f}")', "lr[0]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_rate_of_a_schedule_is_formatted(tmp_path: Path, name: str) -> None:
    line, new = WRONG[name]
    finding = rehearsed(tmp_path, PROGRAM.format(line=line)).findings[-1]
    assert (finding.code, finding.severity) == ("program-error", "error")
    assert "is a list, with the rate of each group" in finding.message
    assert [fix.message for fix in finding.fixes] == [f"`{new}`"]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "line",
    [
        'print(f"{scheduler.get_last_lr()[0]:.5f}")',
        'print(f"{scheduler.get_last_lr()}")',
        'print("%s" % scheduler.get_last_lr())',
        '(lr,) = scheduler.get_last_lr(); print(f"{lr:.5f} {losses}")',
    ],
)
def test_other_ways_to_show_rates_are_quiet(tmp_path: Path, line: str) -> None:
    assert rehearsed(tmp_path, PROGRAM.format(line=line)).findings == ()


def test_another_list_is_an_error_without_a_fix(tmp_path: Path) -> None:
    text = PROGRAM.format(line='print(f"{losses:.3f}")')
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.severity == "error"
    assert not any("[0]" in fix.message for fix in finding.fixes)
