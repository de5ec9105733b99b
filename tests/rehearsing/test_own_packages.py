"""A package of the user's that lies elsewhere: its loops are the program's own."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import moments, rehearsed

TRAINER = """\
class Trainer:
    def __init__(self, model, optimizer, loader):
        self.model, self.optimizer, self.loader = model, optimizer, loader
        self.steps = 0

    def run(self, ended):
        batches = iter(self.loader)
        while True:
            try:
                (x,) = next(batches)
            except StopIteration:
                batches = iter(self.loader)
                (x,) = next(batches)
            self.optimizer.zero_grad()
            self.model(x).mean().backward()
            self.optimizer.step()
            self.steps += 1
            if self.steps % 1000 == 0:
                ended(self)
"""

SCRIPT = """\
import sys
sys.path.insert(0, "{elsewhere}")
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainers_of_mine import Trainer

model = nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader(TensorDataset(torch.randn(4001, 8)), 8)


def ended(trainer):
    print("at", trainer.steps)
    model(torch.randn(2, 7))


Trainer(model, optimizer, loader).run(ended)
"""


def test_an_endless_loop_elsewhere_ends_and_its_conditions_are_met(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    (elsewhere / "trainers_of_mine.py").write_text(dedent(TRAINER))
    sys.modules.pop("trainers_of_mine", None)
    report = rehearsed(here, SCRIPT.format(elsewhere=elsewhere))
    (finding,) = report.findings
    assert finding.code == "inner-dim-mismatch"
    assert finding.span is not None
    assert finding.span.line == 15
    assert "at 1000" in capfd.readouterr().err
    assert report.rehearsal is not None
    loop = moments(report.rehearsal.story, "loop")[0]
    assert loop.file.endswith("trainers_of_mine.py")
    assert len(loop.turns) < 10
