"""Schedules that are planned in one unit and stepped in the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import math
from functools import partial
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(80, 4), torch.randn(80, 1)), 8)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
EPOCHS = 6
total = EPOCHS * len(loader)


def fall(step, num_training_steps):
    return max(0.0, 1 - step / num_training_steps)


def warm_up(steps):
    return lr_scheduler.LinearLR(optimizer, 0.1, total_iters=steps)


scheduler = lr_scheduler.BUILD
for epoch in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        BATCH
    EPOCH
"""
STEP = "scheduler.step()"
WRONG = {
    "one cycle": ("OneCycleLR(optimizer, 0.1, total_steps=total)", "", STEP),
    "one cycle in two numbers": (
        "OneCycleLR(optimizer, 0.1, epochs=EPOCHS, steps_per_epoch=len(loader))",
        "", STEP
    ),
    "a cosine": ("CosineAnnealingLR(optimizer, T_max=total)", "", STEP),
    "a cosine of epochs": ("CosineAnnealingLR(optimizer, EPOCHS)", STEP, ""),
    "a polynomial": ("PolynomialLR(optimizer, total_iters=EPOCHS)", STEP, ""),
    "a function": (
        "LambdaLR(optimizer, lambda step: max(0.0, 1 - step / total))", "", STEP
    ),
    "a function with its number": (
        "LambdaLR(optimizer, partial(fall, num_training_steps=total))", "", STEP
    ),
    "a cosine of fewer epochs": ("CosineAnnealingLR(optimizer, EPOCHS - 3)", STEP, ""),
    "a short cosine": ("CosineAnnealingLR(optimizer, 2)", STEP, ""),
    "behind a warm-up": (
        "SequentialLR(optimizer, milestones=[10], schedulers=[warm_up(10),"
        " lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS - 1)])",
        STEP, ""
    ),
    "behind a warm-up of epochs": (
        "SequentialLR(optimizer, [warm_up(2),"
        " lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS - 2)], milestones=[2])",
        STEP, ""
    ),
    "beside a warm-up": (
        "ChainedScheduler([warm_up(10),"
        " lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)])", STEP, ""
    ),
    "steps that leave nothing of the rate": ("StepLR(optimizer, EPOCHS)", STEP, ""),
}  # fmt: skip
RIGHT = {
    "steps of epochs": ("StepLR(optimizer, EPOCHS)", "", STEP),
    "one cycle": ("OneCycleLR(optimizer, 0.1, total_steps=total)", STEP, ""),
    "a cosine of epochs": ("CosineAnnealingLR(optimizer, EPOCHS)", "", STEP),
    "a cosine of batches": ("CosineAnnealingLR(optimizer, T_max=total)", STEP, ""),
    "a warm-up and a cosine": (
        "SequentialLR(optimizer, [warm_up(10),"
        " lr_scheduler.CosineAnnealingLR(optimizer, total - 10)], milestones=[10])",
        STEP, ""
    ),
    "a warm-up and a cosine of epochs": (
        "SequentialLR(optimizer, [warm_up(2),"
        " lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS - 2)], milestones=[2])",
        "", STEP
    ),
    "a cosine that ends before others": (
        "SequentialLR(optimizer, [lr_scheduler.CosineAnnealingLR(optimizer, 8),"
        " lr_scheduler.ConstantLR(optimizer, 0.1)], milestones=[8])", STEP, ""
    ),
    "a wave in each epoch": ("CosineAnnealingLR(optimizer, 10)", STEP, ""),
    "a short wave of epochs": ("CosineAnnealingLR(optimizer, 2)", "", STEP),
    "cycles": ("CyclicLR(optimizer, 0.01, 0.1, step_size_up=3)", STEP, ""),
    "waves": ("CosineAnnealingLR(optimizer, T_max=20)", STEP, ""),
    "a long plan": ("CosineAnnealingLR(optimizer, T_max=100)", "", STEP),
    "restarts": ("CosineAnnealingWarmRestarts(optimizer, EPOCHS)", STEP, ""),
    "a warm-up": ("LinearLR(optimizer, total_iters=EPOCHS)", STEP, ""),
    "a function": (
        "LambdaLR(optimizer, lambda step: max(0.0, 1 - step / total))", STEP, ""
    ),
    "a wave of the learning rate": (
        "LambdaLR(optimizer, lambda step: 1 + math.sin(step / EPOCHS))", STEP, ""
    ),
}  # fmt: skip


def test_the_plan_of_a_part_is_given_in_batches(tmp_path: Path) -> None:
    build = WRONG["behind a warm-up"][0]
    text = SCRIPT.replace("BUILD", build).replace("BATCH", STEP)
    (finding,) = rehearsed(tmp_path, text.replace("EPOCH\n", "pass\n")).findings
    assert [fix.message for fix in finding.fixes] == [
        "`T_max=(EPOCHS - 1) * len(loader)`"
    ]


def _found(folder: Path, build: str, batch: str, epoch: str) -> list[tuple[str, bool]]:
    """The code of each finding, and whether an edit was tried."""
    text = SCRIPT.replace("BUILD", build).replace("BATCH", batch or "pass")
    report = rehearsed(folder, text.replace("EPOCH\n", (epoch or "pass") + "\n"))
    assert report.complete
    return [(each.code, bool(each.fixes)) for each in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_a_schedule_in_the_other_unit_is_found(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, *WRONG[name]) == [("scheduler-unit", True)]


@pytest.mark.parametrize("name", RIGHT)
def test_a_schedule_in_its_unit_is_right(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, *RIGHT[name]) == []


LISTED = "for schedule in [scheduler]: schedule.step()"


def test_a_list_of_schedulers_is_stepped_as_one(tmp_path: Path) -> None:
    build = "StepLR(optimizer, EPOCHS)"
    assert _found(tmp_path, build, LISTED, "") == [("scheduler-unit", False)]
    assert _found(tmp_path, build, "", LISTED) == []


def test_a_schedule_that_an_evaluation_steps_too_is_told(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        def run(loader, training):
            for x, y in loader:
                with torch.set_grad_enabled(training):
                    loss = nn.functional.mse_loss(model(x), y)
                if training:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                {place}

        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 8)
        data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
        for epoch in range(3):
            run(DataLoader(data, batch_size=8), True)
            run(DataLoader(data, batch_size=8), False)
        """
    wrong = rehearsed(tmp_path, text.format(place="scheduler.step()"))
    (finding,) = wrong.findings
    assert finding.code == "scheduler-unit"
    assert "an evaluation changes the learning rate too" in finding.message
    right = text.format(place="scheduler.step() if training else None")
    assert rehearsed(tmp_path, right).findings == ()
