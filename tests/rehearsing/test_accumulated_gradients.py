"""Gradients that are added up over batches, and cleared before a step uses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(96, 6), torch.randint(3, (96,)))
loader = DataLoader(data, SIZE, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulation = 5
"""
CARRIED = """
last = -1
for epoch in range(6):
    START
    for i, (inputs, labels) in enumerate(loader):
        count = i + len(loader) * epoch
        cross_entropy(model(inputs), labels).backward()
        if count - last >= accumulation:
            optimizer.step()
            optimizer.zero_grad()
            last = count
    END
"""
CLASS = """
class Trainer:
    def __init__(self, every=5):
        self.every, self.seen = every, 0
        self.waiting = 0

    def train_epoch(self):
        START
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels) / self.every
            loss.backward()
            self.waiting += 1
            if self.waiting == self.every:
                self.update()
                self.waiting = 0
        END

    def update(self):
        optimizer.step()
        optimizer.zero_grad()


trainer = Trainer()
for epoch in range(6):
    trainer.train_epoch()
"""
PERIOD = """
for epoch in range(6):
    START
    for i, (inputs, labels) in enumerate(loader):
        cross_entropy(model(inputs), labels).backward()
        if (i + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
    END
"""
AT_END = PERIOD.replace("== 0:", "== 0 or i + 1 == len(loader):")
CLEARING = "optimizer.zero_grad()"
STEP = "optimizer.step()"


def find(
    folder: Path, loop: str, start: str, size: int = 8, end: str = "pass"
) -> list[tuple[str, str]]:
    """Code and first checked edit of each finding."""
    text = BEFORE + loop.replace("START", start).replace("END", end)
    return [
        (finding.code, finding.fixes[0].message if finding.fixes else "")
        for finding in rehearsed(folder, text.replace("SIZE", str(size))).findings
    ]


@pytest.mark.parametrize("loop", [CARRIED, PERIOD])
def test_gradients_of_the_last_batches_are_cleared(tmp_path: Path, loop: str) -> None:
    codes = find(tmp_path, loop, CLEARING)
    assert codes == [("gradients-cleared-unused", f"leave out `{CLEARING}`")]


def test_a_count_of_an_object_goes_on(tmp_path: Path) -> None:
    codes = find(tmp_path, CLASS, CLEARING)
    assert codes == [("gradients-cleared-unused", f"leave out `{CLEARING}`")]


@pytest.mark.parametrize(
    ("loop", "start", "size", "end"),
    [
        (CARRIED, "pass", 8, "pass"),  # nothing is cleared between
        (CARRIED, CLEARING, 10, "pass"),  # 10 batches
        (PERIOD, CLEARING, 10, "pass"),
        (PERIOD, CLEARING, 8, STEP),  # a step for the rest
        (CARRIED, CLEARING, 8, STEP),
        (AT_END, CLEARING, 8, "pass"),
        (CLASS, "pass", 8, "pass"),
        (CARRIED, "print([p.grad for p in model.parameters()])\n    " + CLEARING, 8,
         "pass"),
    ],
)  # fmt: skip
def test_gradients_that_reach_a_step_are_quiet(
    tmp_path: Path, loop: str, start: str, size: int, end: str
) -> None:
    assert find(tmp_path, loop, start, size, end) == []


OPTIONS = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--accum-steps", type=int, default=EVERY)
args = parser.parse_args()
config = {"every": EVERY}
for epoch in range(6):
    count = 0
    START
    for i, (inputs, labels) in enumerate(loader):
        CLEAR
        loss = cross_entropy(model(inputs), labels) / NUMBER
        loss.backward()
        count += 1
        STEP
"""
GUARD = """if count < NUMBER:
            continue
        optimizer.step()
        count = 0
        """
CONDITION = """if (i + 1) % NUMBER == 0:
            optimizer.step()
        """
LATER = f"`{CLEARING}` after `{STEP}`"


@pytest.mark.parametrize("step", [GUARD, CONDITION])
@pytest.mark.parametrize("number", ["args.accum_steps", "config['every']"])
def test_each_batch_clears_the_gradients_of_the_one_before(
    tmp_path: Path, number: str, step: str
) -> None:
    loop = OPTIONS.replace("STEP", step).replace("NUMBER", number)
    loop = loop.replace("CLEAR", CLEARING).replace("EVERY", "4")
    assert find(tmp_path, loop, "pass") == [("gradients-cleared-unused", LATER)]


@pytest.mark.parametrize(
    ("every", "clear", "step"),
    [
        ("1", CLEARING, GUARD),
        ("4", "pass", GUARD + CLEARING),
        ("4", "if count == 0: " + CLEARING, GUARD),
        ("4", f"if i % args.accum_steps == 0: {CLEARING}", CONDITION),
    ],
)
def test_options_by_which_each_gradient_is_used(
    tmp_path: Path, every: str, clear: str, step: str
) -> None:
    loop = OPTIONS.replace("STEP", step).replace("NUMBER", "args.accum_steps")
    loop = loop.replace("CLEAR", clear).replace("EVERY", every)
    assert find(tmp_path, loop, "pass") == []
