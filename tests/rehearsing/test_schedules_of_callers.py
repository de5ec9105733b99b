"""Schedulers of epochs that a function steps with each batch: the edit moves the step
to the loop over epochs that calls the function.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(480, 6), torch.randint(0, 3, (480,)))
loader = DataLoader(data, batch_size=16, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.1)

"""
STEP = """\
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
ARGUMENT = (
    HEAD
    + f"""
def train(loader, model, optimizer, scheduler):
    for x, y in loader:
{STEP}        scheduler.step()
    return loss.item()


for epoch in range(8):
    print(train(loader, model, optimizer, schedule))
"""
)
CASES = {
    "argument": (ARGUMENT, "schedule"),
    "keyword": (ARGUMENT.replace("optimizer, schedule))",
                                 "optimizer, scheduler=schedule))"), "schedule"),
    "guarded": (ARGUMENT.replace(
        "        scheduler.step()",
        "        if scheduler is not None:\n            scheduler.step()"), "schedule"),
    "global": (HEAD + f"""
def train(loader):
    for x, y in loader:
{STEP}        schedule.step()


for epoch in range(8):
    train(loader)
""", "schedule"),
    "object": (HEAD + """
class Trainer:
    def __init__(self):
        self.scheduler = schedule

    def train_epoch(self):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.scheduler.step()

    def fit(self):
        for epoch in range(8):
            self.train_epoch()


Trainer().fit()
""", "self.scheduler"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_step_moves_to_the_loop_over_epochs(name: str, tmp_path: Path) -> None:
    text, owner = CASES[name]
    report = rehearsed(tmp_path, text)
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "scheduler-unit"]
    fix = finding.fixes[0]
    assert fix.checked
    assert fix.message.startswith(f"`{owner}.step()` behind `train")
    (new,) = [edit.text for edit in fix.edits if edit.text]
    assert new.strip() == f"{owner}.step()"


def test_a_step_of_each_epoch_is_quiet(tmp_path: Path) -> None:
    text = ARGUMENT.replace("        scheduler.step()\n", "    scheduler.step()\n")
    report = rehearsed(tmp_path, text)
    assert "scheduler-unit" not in [f.code for f in report.findings]


EARLY = (
    HEAD
    + f"""
def train(loader, model, optimizer):
    for x, y in loader:
{STEP}

for epoch in range(6):
    model.train()
    PLACE
"""
)
INSIDE = f"schedule.step()\n    for x, y in loader:\n{STEP}"
EARLY_STEPS = {
    "before the loop over batches": (INSIDE, "behind the loop of `optimizer.step()`"),
    "before a call": (
        "schedule.step()\n    train(loader, model, optimizer)",
        "after `train(loader, model, optimizer)`",
    ),
    "for each batch": (
        f"for x, y in loader:\n        schedule.step()\n{STEP}",
        "after `optimizer.step()`",
    ),
}


@pytest.mark.parametrize("name", EARLY_STEPS)
def test_an_early_step_keeps_its_unit(tmp_path: Path, name: str) -> None:
    body, words = EARLY_STEPS[name]
    report = rehearsed(tmp_path, EARLY.replace("PLACE", body))
    finding = next(f for f in report.findings if f.code == "scheduler-order")
    assert [fix.message for fix in finding.fixes] == [f"`schedule.step()` {words}"]
