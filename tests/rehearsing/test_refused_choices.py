"""Words that a call does not know, and the schedule of a momentum that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

STEPS = """\
import torch
from torch import nn
from torch.optim.lr_scheduler import CyclicLR, ReduceLROnPlateau
from torch.optim.swa_utils import SWALR
{before}
net = nn.Linear(4, 2)
optimizer = torch.optim.{optimizer}
{line}
loss = net(torch.rand(8, 4)).square().mean()
loss.backward()
optimizer.step()
"""
SGD = "SGD(net.parameters(), lr=0.1, momentum=0.9)"
CHOICES = [
    ("", "SWALR(optimizer, swa_lr=0.1, anneal_strategy='cosine')", "'cos'"),
    ("", "SWALR(optimizer, swa_lr=0.1, anneal_strategy='lin')", "'linear'"),
    ("HOW = 'cosine'", "SWALR(optimizer, 0.1, anneal_strategy=HOW)", "'cos'"),
    ("settings = {'anneal': 'Linear'}",
     "SWALR(optimizer, 0.1, anneal_strategy=settings['anneal'])", "'linear'"),
    ("", "torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9,"
     " anneal_strategy='cosine')", "'cos'"),
    ("", "ReduceLROnPlateau(optimizer, mode='minimize')", "'min'"),
    ("", "nn.Conv2d(1, 2, 3, padding_mode='reflection')", "'reflect'"),
    ("", "nn.RNN(4, 4, nonlinearity='ReLU')", "'relu'"),
    ("", "nn.MSELoss(reduction='avg')(torch.rand(2), torch.rand(2))", "'mean'"),
]  # fmt: skip


def find_errors(folder: Path, line: str, before: str, optimizer: str) -> list[Finding]:
    text = STEPS.format(line=line, before=before, optimizer=optimizer)
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(("before", "line", "new"), CHOICES)
def test_the_nearest_word_is_suggested(
    before: str, line: str, new: str, tmp_path: Path
) -> None:
    (finding,) = find_errors(tmp_path, line, before, SGD)
    (fix,) = finding.fixes
    assert fix.edits[0].text == new
    assert fix.checked


GPU = '"cuda" if torch.cuda.is_available() else "cpu"'
DEVICES = [
    ('DEVICE = "gpu"', "net.to(DEVICE)", GPU),
    ("", 'net.to(torch.device("gpu"))', GPU),
    ("", 'net.to("cuda0")', '"cuda:0" if torch.cuda.is_available() else "cpu"'),
    ('def get(name="gpu"):\n    return torch.device(name)', "net.to(get())", GPU),
    ('settings = {"gpu": 1, "device": "gpu"}', 'net.to(settings["device"])', GPU),
]  # fmt: skip


@pytest.mark.parametrize(("before", "line", "new"), DEVICES)
def test_a_gpu_is_called_cuda(before: str, line: str, new: str, tmp_path: Path) -> None:
    finding = find_errors(tmp_path, line, before, SGD)[0]
    assert finding.message.startswith("torch knows no device")
    (fix,) = finding.fixes
    assert [edit.text for edit in fix.edits] == [new]


def test_a_gpu_that_was_asked_for_is_not_asked_for_again(tmp_path: Path) -> None:
    line = 'net.to("gpu" if torch.cuda.is_available() else "cpu")'
    text = STEPS.format(line=line, before="", optimizer=SGD)
    finding = rehearsed(tmp_path, text, device="cuda").findings[0]
    assert [fix.message for fix in finding.fixes] == ['`"cuda"`']


def test_another_device_is_not_taken_for_a_gpu(tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, 'net.to("tpu")', 'note = "gpu"', SGD)
    assert not finding.fixes


def test_a_word_that_is_near_to_none_has_no_edit(tmp_path: Path) -> None:
    line = "SWALR(optimizer, swa_lr=0.1, anneal_strategy='warm')"
    (finding,) = find_errors(tmp_path, line, "", SGD)
    assert not finding.fixes


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        ("Adagrad(net.parameters(), lr=0.1)", ""),
        ("Adagrad(net.parameters(), lr=0.1)", ", cycle_momentum=True"),
        ("Adadelta(net.parameters(), lr=0.1)", ", mode='triangular2'"),
    ],
)
def test_a_momentum_that_is_not_there_is_not_cycled(
    optimizer: str, words: str, tmp_path: Path
) -> None:
    line = f"scheduler = CyclicLR(optimizer, base_lr=0.1, max_lr=1.0{words})"
    (finding,) = find_errors(tmp_path, line, "", optimizer)
    assert "cycles the momentum beside the learning rate" in finding.message
    (fix,) = finding.fixes
    assert "cycle_momentum=False" in fix.message
    assert fix.checked


@pytest.mark.parametrize(
    "optimizer",
    [SGD, "Adam(net.parameters(), lr=0.1)", "RMSprop(net.parameters(), lr=0.1)"],
)
def test_a_momentum_that_is_there_is_cycled(optimizer: str, tmp_path: Path) -> None:
    line = "scheduler = CyclicLR(optimizer, base_lr=0.1, max_lr=1.0)"
    assert not find_errors(tmp_path, line, "", optimizer)
