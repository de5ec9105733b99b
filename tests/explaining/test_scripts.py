"""Scripts that an error ends: the note of the rehearsal, where it is the same error."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shapewright.commands.check import script_errors
from shapewright.findings.codes import DTYPE_MISMATCH
from shapewright.findings.finding import Finding, Fix, Related
from shapewright.program.spans import Span

SCRIPT = """\
import torch
from torch import nn

import shapewright as sw
from shapewright.commands.check import script_errors

script_errors.SOON = script_errors.SECONDS = 60  # however slow the machine is


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8 * 16 * 16, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv(x)))
        x = self.pool(x)
        return self.fc(x.flatten(1))


def main():
    net, size = Net(), {size}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        loss = net(torch.randn(4, 3, size, size)).mean()
        loss.backward()
        optimizer.step()


with sw.explaining():
    main()
"""


def run(folder: Path, size: str) -> str:
    (folder / "train.py").write_text(SCRIPT.format(size=size))
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, capture_output=True, text=True
    )
    return done.stderr


@pytest.mark.long
def test_the_note_of_a_script_has_the_cause_before_the_call(tmp_path: Path) -> None:
    shown = run(tmp_path, "32")
    assert shown.count("error[inner-dim-mismatch]") == 1
    assert "512 = 8·8·8, flattened from (4, 8, 8, 8)" in shown
    assert "32 -> 16 -> 8 through `Net.pool`, `Net.pool`" in shown
    assert "`nn.Linear(8 * 8 * 8, 10)` at line 15 (checked by a rehearsal)" in shown


@pytest.mark.long
def test_the_sizes_of_another_run_are_not_told(tmp_path: Path) -> None:
    """Real numbers are drawn anew in a rehearsal, which met other sizes then."""
    (tmp_path / "size.py").write_text(
        "import os\nSIZE = 40 if 'SHAPEWRIGHT_EXPLAINING' in os.environ else 24\n"
    )
    shown = run(tmp_path, "__import__('size').SIZE")
    assert "needs 2048 input features, got 288" in shown
    assert "(tried on this call only)" in shown
    assert "checked by a rehearsal" not in shown


@pytest.mark.long
def test_nothing_is_left_of_a_rehearsal_that_is_too_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_errors, "SOON", 0.01)
    monkeypatch.setattr(script_errors, "SECONDS", 4)
    script = tmp_path / "train.py"
    script.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(script_errors, "_find_script", lambda error: script)
    with script_errors.rehearse_script_of(ValueError()) as running:
        assert running is not None
        assert script_errors.explain_script_error(ValueError(), running) is None
    assert running.poll() is not None


ON_A_GPU = """\
import torch

import shapewright as sw
from shapewright.commands.check import script_errors

script_errors.SOON = script_errors.SECONDS = 60
with sw.explaining():
    torch.zeros(3).cuda()
"""


@pytest.mark.long
def test_a_missing_device_is_one_of_this_machine(tmp_path: Path) -> None:
    """In a real run no machine is rehearsed."""
    (tmp_path / "train.py").write_text(ON_A_GPU)
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "asks for `cuda`, which this machine does not have" in done.stderr
    assert "--device cuda" not in done.stderr


CLIPS = """\
import torch
from torch.utils.data import DataLoader, Dataset

import shapewright as sw
from shapewright.commands.check import script_errors

script_errors.SOON = script_errors.SECONDS = 60  # however slow the machine is


class Clips(Dataset):
    def __init__(self):
        self.clips = [torch.randn(20 + i % {lengths}) for i in range(12)]

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        return self.clips[i], i % 2


with sw.explaining():
    for clips, labels in DataLoader(Clips(), batch_size=4, shuffle=True):
        print(clips.shape, labels.shape)
"""


def run_clips(folder: Path, lengths: int) -> str:
    (folder / "train.py").write_text(CLIPS.format(lengths=lengths))
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, capture_output=True, text=True
    )
    return done.stderr


@pytest.mark.long
def test_items_that_do_not_stack_are_told_as_such(tmp_path: Path) -> None:
    shown = run_clips(tmp_path, 12)
    assert "two items of the data set cannot be collated into a batch" in shown
    sizes = re.search(r"size, but got \[(\d+)\] at entry 0 and \[(\d+)\]", shown)
    assert sizes is not None  # what torch said of this run
    assert f"is ({sizes[1]},) in one and ({sizes[2]},) in the other" in shown
    assert "`collate_fn=collate`" in shown
    assert "(checked by a rehearsal)" in shown


def test_items_of_one_length_are_quiet(tmp_path: Path) -> None:
    assert run_clips(tmp_path, 1) == ""


def test_the_places_of_a_rehearsal_are_lent_to_a_note_with_fixes() -> None:
    def at(line: int) -> Span:
        return Span("train.py", line, 1, line, 9)

    fix = Fix("fits", "`y.long()`", ())
    ways = Related(at(7), "`y` is `batch[1]`")
    known = Finding(
        DTYPE_MISMATCH, "error", "it is int32", at(8), related=(ways,), fixes=(fix,)
    )
    origin = Related(at(2), "int32 comes from `torch.from_numpy(labels)`")
    again = Related(at(7), "`y` is another")
    rehearsed = replace(known, related=(origin, again), fixes=())
    assert not script_errors._is_better(known, rehearsed)
    lent = script_errors._add_places(known, rehearsed)
    assert lent.related == (origin, ways)
    assert lent.fixes is known.fixes
