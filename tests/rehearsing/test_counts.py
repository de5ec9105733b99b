"""Turns that a condition on a count waits for, however the program counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.record.report import Report
from tests.rehearsing.rehearsed import moments, rehearsed

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.zeros(6001, 4), torch.zeros(6001, 3)), 32)


def train(x, y):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def wrong():
    return torch.zeros(2, 3) @ torch.zeros(4, 5)


"""

LINE_OF_WRONG = 18

OWN_COUNTER = """\
step = 0
for epoch in range(10):
    for x, y in loader:
        train(x, y)
        step += 1
        if step % 500 == 0:
            wrong()
"""

ATTRIBUTE = """\
class Trainer:
    def __init__(self):
        self.steps = 0

    def fit(self):
        for epoch in range(10):
            for x, y in loader:
                if self.steps % 300 == 299:
                    wrong()
                train(x, y)
                self.steps += 1


Trainer().fit()
"""

THRESHOLD = """\
for epoch in range(1, 61):
    if epoch > 30:
        wrong()
    for x, y in loader:
        train(x, y)
"""

ONE_EPOCH = """\
for epoch in range(60):
    for x, y in loader:
        if epoch == 30:
            wrong()
        train(x, y)
"""

LISTED = """\
for epoch in range(60):
    if epoch in (20, 40):
        wrong()
    for x, y in loader:
        train(x, y)
"""

FOREVER = """\
step = 0
batches = iter(loader)
while True:
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        x, y = next(batches)
    train(x, y)
    if step % 2000 == 0 and step > 0:
        wrong()
    step += 1
    if step > 100_000:
        break
"""

BEHIND_BREAK = """\
step = 0
while True:
    train(torch.zeros(32, 4), torch.zeros(32, 3))
    step += 1
    if step == 5000:
        wrong()
        break
"""

TO_ITS_END = """\
step = 0
while step < 5000:
    train(torch.zeros(32, 4), torch.zeros(32, 3))
    step = step + 1
    if step == 5000:
        wrong()
"""

JUMPED_BATCH = """\
for step, (x, y) in enumerate(loader):
    train(x, y)
    if step % 100 == 99:
        print(model(torch.zeros(5, 4)).sum())
wrong()
"""

CASES = {
    name.lower(): text
    for name, text in globals().items()
    if name.isupper()
    and name not in ("HEAD", "LINE_OF_WRONG", "CASES")
    and isinstance(text, str)
}


def wrongs(report: Report) -> int:
    """How many findings there are, all of them at the planted line."""
    lines = [each.span.line for each in report.findings if each.span is not None]
    assert lines == [LINE_OF_WRONG] * len(report.findings)
    return len(lines)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_turn_that_a_condition_waits_for_is_run(tmp_path: Path, name: str) -> None:
    assert wrongs(rehearsed(tmp_path, HEAD + CASES[name])) == 1


def test_the_last_turn_counts_as_in_a_whole_run(tmp_path: Path) -> None:
    text = """\
step = 0
for epoch in range(10):
    for x, y in loader:
        train(x, y)
        step += 1
assert step == 10 * 188, step
"""
    report = rehearsed(tmp_path, HEAD + text)
    assert report.findings == ()
    assert report.complete


def test_no_turn_is_run_that_a_whole_run_never_comes_to(tmp_path: Path) -> None:
    text = """\
step = 0
while step < 100:
    train(torch.zeros(32, 4), torch.zeros(32, 3))
    step += 1
    if step % 500 == 0:
        wrong()
for epoch in range(20):
    if epoch == 40:
        wrong()
    for x, y in loader:
        train(x, y)
assert step == 100, step
"""
    report = rehearsed(tmp_path, HEAD + text)
    assert report.findings == ()
    assert report.complete
    assert report.rehearsal is not None
    assert report.rehearsal.skipped == ()


def test_the_last_batch_comes_after_a_turn_that_was_waited_for(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + JUMPED_BATCH)
    assert report.rehearsal is not None
    loop = moments(report.rehearsal.story, "loop")[0]
    assert {100, 188} <= set(loop.turns)


UNMET = """\
step = 0
while True:
    train(torch.zeros(32, 4), torch.zeros(32, 3))
    step += 1
    if step > 10_000 and step % 777 == 0:
        print("half way")
    if step > 50_000:
        break
"""


def test_a_condition_that_no_turn_met_is_told(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + UNMET)
    assert report.complete
    assert report.rehearsal is not None
    (told,) = report.rehearsal.skipped
    assert told.endswith(
        "train.py:25: `step > 10000 and step % 777 == 0` was true in no turn that ran"
    )


ASKING = """\
batches = iter(loader)
for i in range({turns}):
    x, y = next(batches)
    train(x, y)
"""


def test_a_loader_that_is_asked_for_too_many_batches(tmp_path: Path) -> None:
    (found,) = rehearsed(tmp_path, HEAD + ASKING.format(turns=189)).findings
    assert found.code == "program-error"
    assert "StopIteration" in found.message
    assert found.span is not None
    assert found.span.line == LINE_OF_WRONG + 5


def test_a_loader_that_is_asked_for_all_its_batches(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + ASKING.format(turns=188))
    assert not report.findings
    assert list(moments(report.rehearsal.story, "batches")[0].turns)[-1] == 188


AGAIN = """\
batches = iter(loader)
for i in range(1000):
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        x, y = next(batches)
    train(x, y)
    if len(x) == 17:
        wrong()
"""


def test_a_loader_that_is_begun_again_gives_its_last_batch(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + AGAIN)
    assert [each.code for each in report.findings] == ["inner-dim-mismatch"]
    assert len(moments(report.rehearsal.story, "batches")) == 2
    assert moments(report.rehearsal.story, "loop")[0].turns[-1] == 1000
