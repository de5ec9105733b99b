"""Sums of the values of a dict that stand behind the loop over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
seen, weights = {{}}, {{"mean": 1.0, "size": 0.1}}


def add(parts):
{body}


for step in range(3):
    y = net(torch.randn(8, 6))
    mean, size = y.mean().square(), y.square().mean()
    loss = add({{"a": {{"mean": mean, "size": size}}, "b": {{"size": size}}}})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NESTED = """
    total = 0.0
    for task, terms in parts.items():
        for name, value in terms.items():
            seen[task, name] = float(value)
        total += value
    return total
"""
SINGLE = """
    terms = parts["a"]
    total = torch.zeros(())
    for name, value in terms.items():
        seen[name] = value.item()
    total = total + weights[name] * value
    return total
"""
VALUES = """
    total = 0
    for terms in parts.values():
        for value in terms.values():
            print(value.item())
        total += value
    return total
"""
WRONG = {
    "nested": (NESTED, "`total += value` inside the loop"),
    "values": (VALUES, "`total += value` inside the loop"),
    "one loop": (
        SINGLE,
        "`total = total + weights[name] * value` inside the loop",
    ),
}
RIGHT = {
    "inside": NESTED.replace("        total +=", "            total +="),
    "what is added is another": NESTED.replace("+= value", "+= terms['size']"),
    "of a list": NESTED.replace("terms.items()", "list(terms.items())"),
    "the last is looked for": NESTED.replace("seen[task, name] = float(value)", "pass"),
    "the loop ends early": NESTED.replace(
        "= float(value)", "= float(value)\n            if name == 'size':\n"
        "                break"
    ),
    "the value is set anew": NESTED.replace(
        "        total +=", "        value = sum(terms.values())\n        total +="
    ),
    "a running sum of the loop": NESTED.replace(
        "seen[task, name] = float(value)", "value = value + seen.get(name, 0)"
    ),
    "begun with something": NESTED.replace("0.0", "net.weight.square().mean()"),
}  # fmt: skip


def find(folder: Path, body: str) -> list[str]:
    """Checked edits of the sums behind a loop."""
    report = rehearsed(folder, PROGRAM.format(body=body.strip("\n")))
    assert report.complete, report
    return [
        f.fixes[0].message if f.fixes else ""
        for f in report.findings
        if f.code == "sum-after-loop"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_only_the_last_value_is_added(name: str, tmp_path: Path) -> None:
    body, edit = WRONG[name]
    assert find(tmp_path, body) == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_sums_that_may_be_meant(name: str, tmp_path: Path) -> None:
    assert find(tmp_path, RIGHT[name]) == []
