"""Early stopping whose count goes on where the best result is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

START = """\
import torch
from torch import nn

x, y = torch.randn(32, 4), torch.randn(32, 1)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def step():
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


"""
LOOP = """\
best, wait = float("inf"), 0
for epoch in range(20):
    value = step()
    if value < best:
        best = value
        best_epoch = epoch
    else:
        wait += 1
        if wait >= 5:
            break
"""
CLASS = """\
class EarlyStopping:
    def __init__(self, patience=5, delta=0.0):
        self.patience, self.delta = patience, delta
        self.counter = 0
        self.best_score = None
        self.early_stop = False

    def __call__(self, loss):
        score = -loss
        if self.best_score is None:
            self.best_score = score
        elif score < self.best_score + self.delta:
            self.counter += 1
            if self.counter >= self.patience:
                self.early_stop = True
        else:
            self.best_score = score


stopper = EarlyStopping()
for epoch in range(20):
    stopper(step())
    if stopper.early_stop:
        break
"""
TRAINER = """\
class Trainer:
    def __init__(self, patience):
        self.patience = patience

    def fit(self):
        best_loss = float("inf")
        self.bad = 0
        for epoch in range(20):
            value = step()
            is_best = value < best_loss
            if is_best:
                best_loss = value
            if not is_best:
                self.bad = self.bad + 1
            if self.bad > self.patience:
                return best_loss


Trainer(3).fit()
"""
GOES_ON = """\
def train(patience):
    lowest, stale = float("inf"), 0
    while True:
        value = step()
        if lowest > value:
            lowest = value
            continue
        stale += 1
        if stale == patience:
            return lowest


train(4)
"""
HEAD = """\
epoch, no_improve, best = 0, 0, float("inf")
while epoch < 20 and no_improve < 4:
    epoch += 1
    value = step()
    if value >= best:
        no_improve += 1
    else:
        best = value
"""
WRONG = {
    "a loop": (LOOP, "wait = 0"),
    "a class": (CLASS, "self.counter = 0"),
    "an attribute": (TRAINER, "self.bad = 0"),
    "a loop that goes on": (GOES_ON, "stale = 0"),
    "the head of a loop": (HEAD, "no_improve = 0"),
    "folds": (
        "for fold in range(2):\n"
        + "".join(f"    {row}\n" for row in LOOP.splitlines()),
        "wait = 0",
    ),
}
RIGHT = {
    "set back": LOOP.replace("best = value", "best = value\n        wait = 0"),
    "set back in one": LOOP.replace("best = value", "best, wait = value, 0"),
    "a conditional count": LOOP.replace("        wait += 1\n", "").replace(
        "        if wait >= 5:\n            break\n",
        "        pass\n    wait = 0 if value <= best else wait + 1\n"
        "    if wait >= 5:\n        break\n",
    ),
    "a class with a reset": CLASS.replace(
        "            self.best_score = score\n\n",
        "            self.best_score = score\n            self.reset()\n\n"
        "    def reset(self):\n        self.counter = 0\n\n",
    ),
    "set from outside": CLASS.replace(
        "    if stopper", "    stopper.counter = 0\n    if stopper"
    ),
    "a budget of the whole training": LOOP.replace("wait", "total_bad_epochs"),
    "a count of failures": LOOP.replace("wait", "failures"),
    "only reported": LOOP.replace("            break", "            print(wait)"),
    "lowered rates": LOOP.replace(
        "            break", "            optimizer.param_groups[0]['lr'] *= 0.5\n"
        "            wait = 0",
    ),
    "an epoch of the best": """\
best, best_epoch = float("inf"), 0
for epoch in range(20):
    value = step()
    if value < best:
        best, best_epoch = value, epoch
    elif epoch - best_epoch >= 5:
        break
""",
    "two in a row by another value": """\
wait, last = 0, float("inf")
for epoch in range(20):
    value = step()
    if value > last:
        wait += 1
    else:
        wait = 0
    last = value
    if wait > 2:
        break
""",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_count_that_goes_on_is_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    report = rehearsed(tmp_path, START + text)
    others = ("model-kept-over-folds",)
    (finding,) = [each for each in report.findings if each.code not in others]
    assert finding.code == "patience-not-reset"
    assert finding.fixes[0].message == f"`{fix}` where the best is kept"


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, START + RIGHT[name])
    codes = [finding.code for finding in report.findings]
    assert "patience-not-reset" not in codes
