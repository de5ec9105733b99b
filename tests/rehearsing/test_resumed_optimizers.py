"""Schedules and scalers of optimizers that lack a state or gradients."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from shapewright.record.report import Report
from tests.rehearsing.rehearsed import rehearsed

RESUMED = """\
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, StepLR

def build():
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)

def train(net, optimizer, scheduler, epochs):
    for _ in range(epochs):
        optimizer.zero_grad()
        net(torch.rand(8, 4)).pow(2).mean().backward()
        optimizer.step()
        scheduler.step()

net, optimizer = build()
train(net, optimizer, StepLR(optimizer, 2), 2)
torch.save({{"net": net.state_dict(), "optimizer": optimizer.state_dict()}}, "last.pt")

def resume(path):
    net, opt = build()
    saved = torch.load(path)
    net.load_state_dict(saved["net"])
    {lines}
    train(net, opt, scheduler, 2)

resume("last.pt")
"""
LOAD = 'opt.load_state_dict(saved["optimizer"])'


def find_error(report: Report) -> Finding:
    return next(f for f in report.findings if f.severity == "error")


@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (
            f"scheduler = CosineAnnealingLR(opt, 8, last_epoch=2); {LOAD}",
            f"`{LOAD}` above the schedule",
        ),
        (
            f"scheduler = StepLR(opt, 3, last_epoch=2); if saved:;     {LOAD}",
            f"`{LOAD}` above the schedule",
        ),
        (
            "scheduler = StepLR(optimizer=opt, step_size=3, last_epoch=2); if saved:;"
            f"     print('resumed');     {LOAD}",
            f"`{LOAD}` above the schedule",
        ),
        (
            "scheduler = LambdaLR(opt, lambda e: 0.9 ** e, last_epoch=2)",
            "without `last_epoch=2`",
        ),
    ],
)
def test_a_schedule_resumes_from_a_state(lines: str, new: str, tmp_path: Path) -> None:
    text = RESUMED.format(lines=lines.replace("; ", "\n    ").replace(";", "\n    "))
    finding = find_error(rehearsed(tmp_path, text))
    assert "`opt` has no such state here" in finding.message
    assert finding.fixes[0].message == new
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "lines",
    [
        f"{LOAD}; scheduler = CosineAnnealingLR(opt, 8, last_epoch=2)",
        f"scheduler = CosineAnnealingLR(opt, 8); {LOAD}",
    ],
)
def test_a_schedule_with_a_state_is_quiet(lines: str, tmp_path: Path) -> None:
    text = RESUMED.format(lines=lines.replace("; ", "\n    "))
    assert not any(f.severity == "error" for f in rehearsed(tmp_path, text).findings)


SCALED = """\
import torch
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 2)

def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag

def train():
    of_head = torch.optim.SGD(head.parameters(), lr=0.1)
    of_body = torch.optim.SGD(body.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    {before}
    for epoch in range(3):
        {start}
        of_head.zero_grad()
        of_body.zero_grad()
        loss = head(body(torch.rand(8, 4))).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(of_head)
        {step}
        scaler.update()

train()
"""
FROZEN = [
    ("pass", "set_trainable(body, epoch >= 1)", "if epoch >= 1:"),
    ("pass", "body.requires_grad_(epoch > 0)", "if epoch > 0:"),
    (
        "set_trainable(body, False)",
        "if epoch == 1:\n            set_trainable(body, True)",
        "if epoch >= 1:",
    ),
    (
        "body.requires_grad_(False)", "pass",
        "if any(p.grad is not None for group in of_body.param_groups"
        ' for p in group["params"]):',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "start", "new"), FROZEN)
def test_a_frozen_optimizer_is_not_stepped(
    before: str, start: str, new: str, tmp_path: Path
) -> None:
    step = "scaler.step(of_body)"
    text = SCALED.format(before=before, start=start, step=step)
    finding = find_error(rehearsed(tmp_path, text))
    assert "no parameter of `of_body` has a gradient here" in finding.message
    assert finding.fixes[0].message == f"`{new}` above `{step}`"
    assert finding.fixes[0].checked


def test_an_optimizer_of_another_loss_has_no_edit(tmp_path: Path) -> None:
    text = SCALED.format(before="pass", start="pass", step="scaler.step(of_body)")
    text = text.replace("head(body(torch.rand(8, 4)))", "head(torch.rand(8, 8))")
    text = text.replace("p.requires_grad = flag", "pass")
    finding = find_error(rehearsed(tmp_path, text))
    assert "its loss was not scaled" in finding.message
    assert not finding.fixes


def test_an_optimizer_that_is_stepped_as_it_trains_is_quiet(tmp_path: Path) -> None:
    text = SCALED.format(
        before="pass", start="set_trainable(body, epoch >= 1)",
        step="if epoch >= 1:\n            scaler.step(of_body)",
    )  # fmt: skip
    assert not any(f.severity == "error" for f in rehearsed(tmp_path, text).findings)
