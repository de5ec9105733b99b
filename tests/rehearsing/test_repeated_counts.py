"""Counts that grow once for each of several sums, each of which they divide."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 6), torch.randn(40, 2))
net = nn.Linear(6, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
NAMES = ["mse", "l1"]
sums = {{name: 0.0 for name in NAMES}}
rows = [0.0, 0.0]
count = 0
for x, y in DataLoader(data, batch_size=8):
    out = net(x)
    losses = {{"mse": F.mse_loss(out, y), "l1": F.l1_loss(out, y)}}
    optimizer.zero_grad()
    sum(losses.values()).backward()
    optimizer.step()
{loop}
{end}
"""
ITEMS = """\
for name, loss in losses.items():
    sums[name] += loss.item() * len(x)
    count += len(x)"""
EACH = "print({name: sums[name] / count for name in NAMES})"
WRONG = {
    "items": (ITEMS, EACH),
    "keys": (
        "for name in losses:\n    sums[name] += losses[name].item()\n    count += 1",
        EACH),
    "names": (
        'for name in ("mse", "l1"):\n    count += 1\n'
        "    sums[name] += losses[name].item()", EACH),
    "places": (
        "for i, loss in enumerate(losses.values()):\n    rows[i] += loss.item()\n"
        "    count += 1", "print(rows[0] / count, rows[1] / count)"),
    "a limit": (ITEMS, "for name in NAMES:\n    print(sums[name] / max(count, 1))"),
    "values": (ITEMS, "print([total / count for total in sums.values()])"),
}  # fmt: skip
RIGHT = {
    "behind the loop": (ITEMS.replace("    count", "count"), EACH),
    "one mean of all": (ITEMS, "print(sum(sums.values()) / count)"),
    "times the number of sums": (
        ITEMS, "print({name: sums[name] / count * len(NAMES) for name in NAMES})"),
    "a count of each": (
        ITEMS.replace("count +=", "rows[name == 'l1'] +="),
        "print(sums['mse'] / rows[0])"),
    "a histogram": (
        "for name, loss in losses.items():\n    sums[name] += 1\n    count += 1", EACH),
    "shares": (
        "for name, loss in losses.items():\n    sums[name] += loss.item()\n"
        "    count += loss.item()", EACH),
    "anew in each batch": ("count = 0\n" + ITEMS, EACH),
    "no division": (ITEMS, "print(sums, count)"),
}  # fmt: skip


def list_findings(folder: Path, loop: str, end: str) -> list[Finding]:
    """Return what is said of sums that are divided by too much."""
    text = SCRIPT.format(loop=indent(loop, "    "), end=end)
    report = rehearsed(folder, text)
    assert report.complete, report
    return [found for found in report.findings if found.code == "mean-over-samples"]


@pytest.mark.parametrize("name", WRONG)
def test_a_count_of_all_sums_is_found(name: str, tmp_path: Path) -> None:
    (finding,) = list_findings(tmp_path, *WRONG[name])
    assert "`count` is raised in each turn of the loop over" in finding.message
    (fix,) = [fix for fix in finding.fixes if fix.checked]
    assert fix.message.endswith("behind the loop")


@pytest.mark.parametrize("name", RIGHT)
def test_other_counts_are_quiet(name: str, tmp_path: Path) -> None:
    assert list_findings(tmp_path, *RIGHT[name]) == []


METHODS = """\
import torch
from torch import nn
import torch.nn.functional as F


class Trainer:
    def __init__(self):
        self.net = nn.Linear(6, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.sums, self.count = {"mse": torch.zeros(2), "l1": torch.zeros(2)}, 0.0

    def run(self):
        for step in range(20):
            x, y = torch.randn(8, 6), torch.randn(8, 2)
            out = self.net(x)
            losses = {"mse": (out - y) ** 2, "l1": (out - y).abs()}
            self.optimizer.zero_grad()
            losses["mse"].mean().backward()
            self.optimizer.step()
            self.log(losses, torch.ones(8))
        for key in self.sums:
            print(key, self.sums[key] / self.count)

    def log(self, losses, mask):
        for key, value in losses.items():
            self.sums[key][0] += value.detach().sum()
            COUNT


Trainer().run()
"""


@pytest.mark.parametrize("is_inside", [True, False])
def test_counts_of_an_object(is_inside: bool, tmp_path: Path) -> None:
    count = "self.count += mask.sum()"
    text = METHODS.replace("    COUNT", ("    " if is_inside else "") + count)
    findings = rehearsed(tmp_path, text).findings
    assert is_inside == ("mean-over-samples" in [f.code for f in findings])
