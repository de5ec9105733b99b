"""Loops of live functions end when their turns bring nothing new, as a script's do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import shapewright as sw
from tests.rehearsing.rehearsed import moments


def imported(folder: Path, text: str) -> ModuleType:
    """A module of that text; pytest does not change its code."""
    file = folder / "training.py"
    file.write_text(dedent(text))
    spec = importlib.util.spec_from_file_location("training", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TRAINER = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Trainer:
        def __init__(self):
            self.model = nn.Linear(4, 3)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            data = TensorDataset(torch.zeros(6001, 4), torch.zeros(6001, 3))
            self.loader = DataLoader(data, 32)
            self.log = []

        def epoch(self):
            for x, y in self.loader:
                loss = nn.functional.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.log.append(loss.item())

        def fit(self, epochs=90):
            for epoch in range(epochs):
                self.epoch()
                if epoch == 50:
                    torch.zeros(2, 3) @ torch.zeros(4, 5)
            assert len(self.log) == epochs * 188, len(self.log)
"""


def test_methods_have_their_loops_shortened_and_stay_as_they_are(
    tmp_path: Path,
) -> None:
    kind = imported(tmp_path, TRAINER).Trainer
    trainer = kind()
    before = kind.fit.__code__, kind.epoch.__code__
    report = sw.rehearse(trainer.fit)
    (finding,) = report.findings
    assert finding.code == "inner-dim-mismatch"
    assert finding.span is not None
    assert finding.span.line == 26
    assert report.complete
    assert report.rehearsal is not None
    epochs, batches = moments(report.rehearsal.story, "loop")[1:]
    assert {1, 2, 51, 90} <= set(epochs.turns)
    assert len(epochs.turns) < 10
    assert epochs.total == 90
    assert batches.turns[-1] == batches.total == 188
    assert (kind.fit.__code__, kind.epoch.__code__) == before
    assert trainer.log == []


CLOSURE = """\
    import torch
    from torch import nn


    def made(model, count):
        def train():
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            step, found = 0, []

            def one():
                nonlocal step
                for _ in range(1000):
                    out = model(torch.zeros(2, 4))
                    nn.functional.mse_loss(out, torch.zeros(2, 3)).backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    step += 1
                return step + count

            found.append(one())
            assert found == [1007], found
            return found

        return train


    train = made(nn.Linear(4, 3), 7)
"""


def test_a_closure_keeps_its_names(tmp_path: Path) -> None:
    report = sw.rehearse(imported(tmp_path, CLOSURE).train)
    assert [each.message for each in report.findings] == []
    assert report.complete
    assert report.rehearsal is not None
    assert report.rehearsal.steps < 20


def test_a_file_that_was_edited_since_is_left_alone(tmp_path: Path) -> None:
    module = imported(tmp_path, CLOSURE)
    (tmp_path / "training.py").write_text(dedent(CLOSURE).replace("1000", "2000"))
    report = sw.rehearse(module.train)
    assert report.rehearsal is not None
    assert report.rehearsal.steps == 1000
