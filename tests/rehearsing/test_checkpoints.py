"""Checkpoints that are resumed in part, as a whole, or for an evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), 8)
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)


def save(epoch):
    {save}


start = 0
if os.path.exists("last.pt"):
    checkpoint = torch.load("last.pt", map_location="cpu")
{load}
for epoch in range({start}, 4):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
    scheduler.step()
    save(epoch)
{end}
"""
WHOLE = """torch.save({"epoch": epoch, "model": net.state_dict(),
                "optimizer": optimizer.state_dict()}, "last.pt")"""
NAMED = """state = {"epoch": epoch, "model": net.state_dict(),
             "optimizer": optimizer.state_dict(),
             "scheduler": scheduler.state_dict()}
    torch.save(state, "last.pt")"""
MODEL = 'net.load_state_dict(checkpoint["model"])\n'
EPOCH = 'start = checkpoint["epoch"] + 1'
OPTIMIZER = 'optimizer.load_state_dict(checkpoint["optimizer"])\n'
WRONG = {
    "the optimizer": (WHOLE, MODEL + EPOCH, "start", ""),
    "with get": (
        WHOLE, 'net.load_state_dict(checkpoint.get("model"))\n'
        'start = checkpoint.get("epoch", 0)', "start", ""
    ),
    "the scheduler": (NAMED, MODEL + OPTIMIZER + EPOCH, "start", ""),
    "both": (NAMED, MODEL + EPOCH, "start", ""),
}  # fmt: skip
RIGHT = {
    "loaded": (WHOLE, MODEL + OPTIMIZER + EPOCH, "start", ""),
    "passed on": (
        WHOLE, "def resume(state):\n    net.load_state_dict(state['model'])\n"
        "    optimizer.load_state_dict(state['optimizer'])\n\nresume(checkpoint)\n"
        + EPOCH, "start", ""
    ),
    "a first training of loaded weights": (WHOLE, MODEL, "0", ""),
    "not saved": (
        'torch.save({"epoch": epoch, "model": net.state_dict()}, "last.pt")',
        MODEL + EPOCH, "start", ""
    ),
    "loaded for a test": (
        WHOLE, MODEL + OPTIMIZER + EPOCH, "start",
        'best = torch.load("last.pt")\nnet.load_state_dict(best["model"])\n'
        'print(f"epoch {best[\'epoch\']}")'
    ),
    "printed": (
        WHOLE, MODEL + 'print("epoch", checkpoint["epoch"])', "start", ""
    ),
    "in a loop over names": (
        WHOLE, 'for name, part in (("model", net), ("optimizer", optimizer)):\n'
        "    part.load_state_dict(checkpoint[name])\n" + EPOCH, "start", ""
    ),
}  # fmt: skip


def _found(
    folder: Path, save: str, load: str, start: str, end: str
) -> list[tuple[str, bool]]:
    """The message of each finding, and whether an edit was tried."""
    pad = "\n".join("    " + line for line in load.strip().split("\n"))
    text = SCRIPT.format(save=save, load=pad, start=start, end=end)
    report = rehearsed(folder, text)
    assert report.complete
    return [(each.message, bool(each.fixes)) for each in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_a_state_that_is_not_resumed_is_found(name: str, tmp_path: Path) -> None:
    ((message, fixes),) = _found(tmp_path, *WRONG[name])
    assert "never loads it" in message
    assert fixes
    assert ("`scheduler`" in message) == (name in ("the scheduler", "both"))
    assert ("`optimizer`" in message) == (name != "the scheduler")


@pytest.mark.parametrize("name", RIGHT)
def test_states_that_are_resumed_or_not_wanted(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, *RIGHT[name]) == []


ALONE = """\
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), 8)


class Trainer:
    def __init__(self, path):
        self.net, self.path = nn.Linear(4, 1), path
        self.optimizer = torch.optim.{optimizer}
        if os.path.exists(self.path):
            {load}

    def train(self):
        for x, y in loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.net(x), y).backward()
            self.optimizer.step()
        torch.save({saved}, self.path)


trainer = Trainer("last.pt")
for epoch in range(3):
    trainer.train()
"""
ADAM = "Adam(self.net.parameters(), lr=0.1)"
RESUME = (
    'print("resuming")\n            self.net.load_state_dict(torch.load(self.path))'
)


@pytest.mark.parametrize(
    ("optimizer", "load", "saved", "is_told"),
    [
        (ADAM, RESUME, "self.net.state_dict()", True),
        (ADAM, RESUME.replace("resuming", "loaded"), "self.net.state_dict()", False),
        ("SGD(self.net.parameters(), lr=0.1)", RESUME, "self.net.state_dict()", False),
        ("SGD(self.net.parameters(), lr=0.1, momentum=0.9)", RESUME,
         "self.net.state_dict()", True),
    ],
    ids=["Adam", "only loaded", "without averages", "momentum"],
)  # fmt: skip
def test_a_model_that_is_resumed_alone(
    optimizer: str, load: str, saved: str, is_told: bool, tmp_path: Path
) -> None:
    text = ALONE.format(optimizer=optimizer, load=load, saved=saved)
    findings = rehearsed(tmp_path, text).findings
    codes = [(each.code, bool(each.fixes)) for each in findings]
    assert codes == ([("state-not-resumed", True)] if is_told else [])
