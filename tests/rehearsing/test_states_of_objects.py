"""States of the best model that an object keeps without a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import torch
from torch import nn

class Runner:
    def __init__(self, model):
        self.model, self.best, self.kept = model, 0.0, None
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(self):
        loss = self.model(torch.rand(8, 6)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def check(self, score):
        if score > self.best:
            self.best = score
            KEEP

    def finish(self):
        FINISH

runner = Runner(nn.Linear(6, 3))
for epoch in range(4):
    runner.train()
    runner.check(0.2 * epoch + 0.1)
runner.finish()
"""
SAVE = "torch.save(self.kept, 'best.pt')"
LOAD = "self.model.load_state_dict(self.kept)"
WRONG = {
    "saved in a dict": (
        "self.kept = {'score': score, 'model': self.model.state_dict()}", SAVE
    ),
    "saved": ("self.kept = self.model.state_dict()", SAVE),
    "loaded": ("self.kept = self.model.state_dict()", LOAD),
}  # fmt: skip
RIGHT = {
    "a copy": ("self.kept = copy.deepcopy(self.model.state_dict())", SAVE),
    "clones": (
        "self.kept = {k: v.clone() for k, v in self.model.state_dict().items()}", LOAD
    ),
    "saved at once": (
        "self.kept = self.model.state_dict(); torch.save(self.kept, 'best.pt')",
        "torch.save(self.kept, 'last.pt')",
    ),
    "copied later": (
        "self.kept = self.model.state_dict(); self.kept = copy.deepcopy(self.kept)",
        SAVE,
    ),
    "never read": ("self.kept = self.model.state_dict()", "print(self.best)"),
}  # fmt: skip


def find(folder: Path, keep: str, finish: str) -> list[tuple[str, bool]]:
    """The code of each finding, and whether its fix was tried."""
    report = rehearsed(folder, SCRIPT.replace("KEEP", keep).replace("FINISH", finish))
    assert report.complete
    return [(each.code, bool(each.fixes)) for each in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_a_state_that_changes_with_its_model_is_told(name: str, tmp_path: Path) -> None:
    assert find(tmp_path, *WRONG[name]) == [("state-not-copied", True)]


@pytest.mark.parametrize("name", RIGHT)
def test_a_copy_or_a_file_of_the_moment_is_right(name: str, tmp_path: Path) -> None:
    assert find(tmp_path, *RIGHT[name]) == []
