"""Statements that undo one, or do nothing: a term that replaces a loss, numbers of
batches as their count, one seed for all items, a method that is named only.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import random
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

{before}
data = TensorDataset(torch.randn(40, 6), torch.randn(40, 6))
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader({data}, batch_size=8, shuffle=True)
total, n = 0.0, 0
for i, (x, y) in enumerate(loader):
    out = model(x)
{loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    {count}
print(total / {divisor})
"""
PLAIN = "loss = F.mse_loss(out, y)"
TERMS = """\
loss = 0.0
loss += F.mse_loss(out, y)
if n >= 0:
    {term}
"""
ITEMS = """\
class Pairs(Dataset):
    def __len__(self):
        return 24
    def flip(self, x):
        return x.flip(0) if random.random() < 0.5 else x
    def __getitem__(self, i):
        {first}
        image = self.flip(torch.full((6,), float(i)))
        {second}
        return image, self.flip(torch.full((6,), float(i)))
"""
LAYER = """\
class Layer(nn.Linear):
    def __init__(self, a, b):
        super().__init__(a, b)
        {init}
    {mark}
    def reset(self):
        nn.init.normal_(self.weight, 0, 0.01)
Layer(3, 3)
"""
TABLE = """\
table = torch.zeros(10, 4)
table[:, 0::2] = torch.rand(10, 2)
{second}
"""


def fill(
    before: str = "",
    data: str = "data",
    loss: str = PLAIN,
    count: str = "n += 1",
    divisor: str = "n",
) -> str:
    body = indent(loss, "    ")
    return TRAINING.format(
        before=before, data=data, loss=body, count=count, divisor=divisor
    )


def seeded(first: str, second: str) -> str:
    return fill(ITEMS.format(first=first, second=second), "Pairs()")


WRONG = {
    "a term that replaces": (
        fill(loss=TERMS.format(term="loss = out.norm() * 0.1")),
        "loss-overwritten", "`loss += out.norm() * 0.1`",
    ),
    "numbers of batches": (
        fill(count="n += i", divisor="(n + 1)"), "mean-over-samples", "`n += 1`",
    ),
    "a seed for each item": (
        seeded("random.seed(7)", "random.seed(7)"),
        "seed-repeated", "`seed = random.randint(0, 2**31 - 1)` for each item",
    ),
    "a method that is named": (
        fill(LAYER.format(init="self.reset", mark="")),
        "result-dropped", "`self.reset()`",
    ),
    "a part that is written twice": (
        fill(TABLE.format(second="table[:, 0::2] = torch.ones(10, 2)")),
        "result-dropped", "`table[:, 1::2]`",
    ),
    "a weight that jumps": (
        fill(loss="share = min(1.0, i // 5)\nloss = share * F.mse_loss(out, y)"),
        "floored-factor", "`i / 5`",
    ),
}  # fmt: skip
RIGHT = {
    "a term that is added": fill(loss=TERMS.format(term="loss += out.norm() * 0.1")),
    "a term of both": fill(loss=TERMS.format(term="loss = loss + out.norm() * 0.1")),
    "another loss": fill(
        loss="if n > 2:\n    loss = 0.0\n    loss += out.norm()\n"
        "else:\n    loss = F.mse_loss(out, y)"
    ),
    "a loss that was read": fill(
        loss="loss = 0.0\nloss += F.mse_loss(out, y)\nprint(float(loss))\n"
        "loss = out.norm() * 0.1"
    ),
    "a count": fill(divisor="(n + 1)"),
    "a sum of numbers": fill(count="n += i", divisor="len(loader)"),
    "seeds of the items": seeded("random.seed(i)", "random.seed(i)"),
    "a drawn seed": seeded("s = random.randrange(9); random.seed(s)", "random.seed(s)"),
    "a method that is called": fill(LAYER.format(init="self.reset()", mark="")),
    "a property": fill(LAYER.format(init="self.reset", mark="@property")),
    "two parts": fill(TABLE.format(second="table[:, 1::2] = torch.ones(10, 2)")),
    "a part that is changed": fill(
        TABLE.format(second="table[:, 0::2] = table[:, 0::2] * 2")
    ),
    "a weight that grows": fill(
        loss="share = min(1.0, i / 5)\nloss = share * F.mse_loss(out, y)"
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_lost_is_found(case: str, tmp_path: Path) -> None:
    text, code, fix = WRONG[case]
    findings = rehearsed(tmp_path, text).findings
    assert [finding.code for finding in findings] == [code]
    assert [edit.message for edit in findings[0].fixes][:1] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_nothing_is_lost(case: str, tmp_path: Path) -> None:
    codes = {finding.code for finding in rehearsed(tmp_path, RIGHT[case]).findings}
    assert not codes & {code for _, code, _ in WRONG.values()}
