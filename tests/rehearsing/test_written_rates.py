"""Rates that do not follow their plan: schedules built anew, the first group only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

x, y = torch.randn(8, 6), torch.randn(8, 1)


def learn(model, optimizer):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


"""
CASES = {
    "in a function": (
        "def train(model):\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    schedule = StepLR(optimizer, 2)\n"
        "    for _ in range(3):\n        learn(model, optimizer)\n"
        "    schedule.step()\n\n"
        "model = nn.Linear(6, 1)\n"
        "for epoch in range(4):\n    train(model)\n",
        "schedule-restarted",
    ),
    "in the loop": (
        "model = nn.Linear(6, 1)\n"
        "for _ in range(n_epochs := 4):\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    schedule = StepLR(optimizer, 2)\n"
        "    learn(model, optimizer)\n    schedule.step()\n",
        "schedule-restarted",
    ),
    "once before the loop": (
        "model = nn.Linear(6, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "schedule = StepLR(optimizer, 2)\n"
        "for epoch in range(4):\n    learn(model, optimizer)\n    schedule.step()\n",
        "",
    ),
    "a schedule of batches in each epoch": (
        "model = nn.Linear(6, 1)\n"
        "for epoch in range(3):\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    schedule = StepLR(optimizer, 2)\n"
        "    for _ in range(5):\n        learn(model, optimizer)\n"
        "        schedule.step()\n",
        "",
    ),
    "a whole training": (
        "def train(model):\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    schedule = StepLR(optimizer, 2)\n"
        "    for epoch in range(3):\n        learn(model, optimizer)\n"
        "        schedule.step()\n\n"
        "for seed in range(2):\n    train(nn.Linear(6, 1))\n",
        "",
    ),
    "the first of two groups": (
        "body, head = nn.Linear(6, 4), nn.Linear(4, 1)\n"
        "model = nn.Sequential(body, head)\n"
        "groups = [{'params': body.parameters()}, {'params': head.parameters()}]\n"
        "optimizer = torch.optim.AdamW(groups, lr=0.1)\n"
        "for step in range(4):\n"
        "    optimizer.param_groups[0]['lr'] = 0.1 / (step + 1)\n"
        "    learn(model, optimizer)\n",
        "first-group-only",
    ),
    "the first of two groups in a function": (
        "def build(body, head):\n"
        "    return torch.optim.SGD([{'params': body.parameters(), 'lr': 0.1},\n"
        "        {'params': head.parameters(), 'lr': 0.2}])\n\n"
        "def fit(model, opt):\n    for step in range(4):\n"
        "        opt.param_groups[0]['lr'] *= 0.5\n        learn(model, opt)\n\n"
        "body, head = nn.Linear(6, 4), nn.Linear(4, 1)\n"
        "fit(nn.Sequential(body, head), build(body, head))\n",
        "first-group-only",
    ),
    "the only group": (
        "model = nn.Linear(6, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(4):\n"
        "    optimizer.param_groups[0]['lr'] = 0.1 / (step + 1)\n"
        "    learn(model, optimizer)\n",
        "",
    ),
    "both groups": (
        "body, head = nn.Linear(6, 4), nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD([{'params': body.parameters()},\n"
        "    {'params': head.parameters()}], lr=0.1)\n"
        "for step in range(4):\n"
        "    optimizer.param_groups[0]['lr'] = 0.1 / (step + 1)\n"
        "    optimizer.param_groups[1]['lr'] = 0.2 / (step + 1)\n"
        "    learn(nn.Sequential(body, head), optimizer)\n",
        "",
    ),
    "a rate that is shown": (
        "body, head = nn.Linear(6, 4), nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD([{'params': body.parameters()},\n"
        "    {'params': head.parameters()}], lr=0.1)\n"
        "learn(nn.Sequential(body, head), optimizer)\n"
        "print(optimizer.param_groups[0]['lr'])\n",
        "",
    ),
}
CODES = {"schedule-restarted", "first-group-only"}


@pytest.mark.parametrize("name", CASES)
def test_rates_that_do_not_follow_their_plan(name: str, tmp_path: Path) -> None:
    body, code = CASES[name]
    report = rehearsed(tmp_path, HEAD + body)
    found = [finding.code for finding in report.findings if finding.code in CODES]
    assert found == [code] * bool(code)
