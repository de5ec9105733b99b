"""Loops of which a single turn counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
loader = DataLoader(data, batch_size=16)
model = nn.Linear(6, 3)
criterion = nn.CrossEntropyLoss()


"""
RETURNS = {
    "quotient": (
        "@torch.no_grad()\n"
        "def evaluate(model, loader):\n"
        "    correct, total = 0, 0\n"
        "    for x, y in loader:\n"
        "        correct += (model(x).argmax(1) == y).sum().item()\n"
        "        total += len(y)\n"
        "        accuracy = correct / total\n"
        "        return accuracy\n\n\n"
        "print(evaluate(model, loader))\n",
        "`return accuracy` behind the loop",
    ),
    "in a method, in no_grad": (
        "class Trainer:\n"
        "    def predict(self, loader):\n"
        "        outputs = []\n"
        "        for x, _ in loader:\n"
        "            with torch.no_grad():\n"
        "                out = model(x)\n"
        "                outputs.append(out)\n"
        "                return torch.cat(outputs)\n\n\n"
        "Trainer().predict(loader)\n",
        "`return torch.cat(outputs)` behind the loop",
    ),
    "written out": (
        "def mean_loss(loader):\n"
        "    total = 0.0\n"
        "    for step, (x, y) in enumerate(loader):\n"
        "        loss = criterion(model(x), y)\n"
        "        total = total + loss.item()\n"
        "        return total / len(loader)\n\n\n"
        "mean_loss(loader)\n",
        "`return total / len(loader)` behind the loop",
    ),
}
RIGHT_RETURNS = {
    "behind": (
        "def evaluate(loader):\n"
        "    correct = 0\n"
        "    for x, y in loader:\n"
        "        correct += (model(x).argmax(1) == y).sum().item()\n"
        "    return correct\n\n\n"
        "evaluate(loader)\n"
    ),
    "under a condition": (
        "def evaluate(loader, most):\n"
        "    correct = 0\n"
        "    for i, (x, y) in enumerate(loader):\n"
        "        correct += (model(x).argmax(1) == y).sum().item()\n"
        "        if i == most:\n"
        "            return correct\n"
        "    return correct\n\n\n"
        "evaluate(loader, 3)\n"
    ),
    "the first batch": (
        "def peek(loader):\n"
        "    for x, y in loader:\n"
        "        scores = model(x)\n"
        "        return scores, y\n\n\n"
        "peek(loader)\n"
    ),
    "the first that fits": (
        "def first_long(loader):\n"
        "    skipped = 0\n"
        "    for x, y in loader:\n"
        "        skipped += 1\n"
        "        if len(x) < 4:\n"
        "            continue\n"
        "        return x, skipped\n\n\n"
        "first_long(loader)\n"
    ),
    "a sum within": (
        "def first(loader):\n"
        "    total = 0\n"
        "    for x, y in loader:\n"
        "        for row in x[:3]:\n"
        "            total += row.sum()\n"
        "        return total\n\n\n"
        "first(loader)\n"
    ),
    "a sum of its own": (
        "def first(loader):\n"
        "    total = 0\n"
        "    for x, y in loader:\n"
        "        total = x.mean()\n"
        "        total += y.sum()\n"
        "        return total\n\n\n"
        "first(loader)\n"
    ),
}
STEPS = """\
cell, head = nn.GRUCell(6, 8), nn.Linear(8, 3)
heads = nn.ModuleList(nn.Linear(6, 3) for _ in range(4))
optimizer = torch.optim.Adam(
    [*cell.parameters(), *head.parameters(), *heads.parameters()]
)
for _ in range(2):
    x, y, h = torch.randn(4, 5, 6), torch.randint(3, (4, 5)), torch.zeros(4, 8)
    optimizer.zero_grad()
"""
STEP = "    optimizer.step()\n"
LOSSES = {
    "of a decoder": (
        "    loss = 0\n"
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        loss = criterion(head(h), y[:, t])\n"
        "    loss.backward()\n",
        "`loss += criterion(head(h), y[:, t])`",
    ),
    "of an item, without a zero": (
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        y_t = y[:, t]\n"
        "        loss = F.cross_entropy(head(h), y_t) / 5\n"
        "    (loss / 2).backward()\n",
        "`loss += F.cross_entropy(head(h), y_t) / 5`",
    ),
    "of heads": (
        "    for head_, y_h in zip(heads, y.T):\n"
        "        total_loss = criterion(head_(x[:, 0]), y_h)\n"
        "    if True:\n"
        "        total_loss.backward()\n",
        "`total_loss += criterion(head_(x[:, 0]), y_h)`",
    ),
    "until a token": (
        "    loss = 0.0\n"
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        loss = criterion(head(h), y[:, t])\n"
        "        if len(h) == 7:\n"
        "            break\n"
        "    loss.backward()\n",
        "`loss += criterion(head(h), y[:, t])`",
    ),
}
RIGHT_LOSSES = {
    "added": (
        "    loss = 0\n"
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        loss = loss + criterion(head(h), y[:, t])\n"
        "    loss.backward()\n"
    ),
    "collected": (
        "    losses = []\n"
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        loss = criterion(head(h), y[:, t])\n"
        "        losses.append(loss)\n"
        "    loss = torch.stack(losses).mean()\n"
        "    loss.backward()\n"
    ),
    "propagated within": (
        "    for head_, y_h in zip(heads, y.T):\n"
        "        loss = criterion(head_(x[:, 0]), y_h)\n"
        "        loss.backward()\n"
    ),
    "of the last state": (
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        loss = criterion(head(h), y[:, -1])\n"
        "    loss.backward()\n"
    ),
    "of the last step alone": (
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        if t == 4:\n"
        "            loss = criterion(head(h), y[:, t])\n"
        "    loss.backward()\n"
    ),
    "assigned again behind": (
        "    for t in range(5):\n"
        "        h = cell(x[:, t], h)\n"
        "        loss = criterion(head(h), y[:, t])\n"
        "    loss = criterion(head(h), y[:, 0])\n"
        "    loss.backward()\n"
    ),
}


@pytest.mark.parametrize("name", RETURNS)
def test_a_return_in_the_first_turn_is_reported(tmp_path: Path, name: str) -> None:
    body, edit = RETURNS[name]
    findings = rehearsed(tmp_path, SCRIPT + body).findings
    finding = next(f for f in findings if f.code == "return-in-loop")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT_RETURNS)
def test_a_return_that_is_meant_is_not_reported(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT_RETURNS[name]).findings
    assert "return-in-loop" not in {f.code for f in findings}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_the_last_turn_is_reported(tmp_path: Path, name: str) -> None:
    body, edit = LOSSES[name]
    findings = rehearsed(tmp_path, SCRIPT + STEPS + body + STEP).findings
    finding = next(f for f in findings if f.code == "loss-overwritten")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT_LOSSES)
def test_a_loss_that_counts_is_not_reported(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + STEPS + RIGHT_LOSSES[name] + STEP).findings
    assert "loss-overwritten" not in {f.code for f in findings}
