"""Lengths of a split that do not add up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

dataset = TensorDataset(torch.randn(157, 3), torch.randn(157, 1))

def make_parts(data):
{body}
    return parts

parts = make_parts(dataset)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(parts[0], batch_size=16, shuffle=True):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
MISTAKES = {
    "names": (
        "n_train = int(0.8 * len(data))\nn_test = int(0.2 * len(data))\n"
        "parts = random_split(data, [n_train, n_test])",
        "`n_test = len(data) - n_train`",
    ),
    "a name for the length": (
        "n = len(data)\na, b, c = int(n * 0.7), int(n * 0.15), int(n * 0.15)\n"
        "parts = random_split(data, (a, b, c))",
        "`n - a - b`",
    ),
    "inside the call": (
        "parts = random_split(data, [int(len(data) * 0.8), int(len(data) * 0.2)])",
        "`len(data) - int(len(data) * 0.8)`",
    ),
    "a list with a name": (
        "lengths = [int(len(data) * 0.8), int(len(data) * 0.2)]\n"
        "parts = random_split(data, lengths=lengths)",
        "`len(data) - int(len(data) * 0.8)`",
    ),
    "numbers": (
        "parts = random_split(data, [100, 50])", "`len(data) - 100`",
    ),
    "shares": ("parts = random_split(data, [0.8, 0.1])", "`0.2`"),
    "the last length above": (
        "n_val = int(0.2 * len(data))\nn_train = int(0.8 * len(data))\n"
        "parts = random_split(data, [n_train, n_val])",
        "`len(data) - n_train`",
    ),
}  # fmt: skip
RIGHT = {
    "the rest": "n = 120\nparts = random_split(data, [n, len(data) - n])",
    "shares": "parts = random_split(data, [0.8, 0.2])",
}


def _write(body: str) -> str:
    return PROGRAM.format(body="\n".join(f"    {row}" for row in body.splitlines()))


@pytest.mark.parametrize("name", MISTAKES)
def test_the_last_part_takes_the_rest(tmp_path: Path, name: str) -> None:
    body, fix = MISTAKES[name]
    finding = rehearsed(tmp_path, _write(body)).findings[-1]
    assert "do not add up" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_lengths_that_add_up_are_right(tmp_path: Path, name: str) -> None:
    assert rehearsed(tmp_path, _write(RIGHT[name])).findings == ()
