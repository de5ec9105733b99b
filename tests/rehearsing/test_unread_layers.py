"""Layers without a gradient, since nothing reads what they return."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 12)
        self.second = nn.Linear(12, 12)
        self.middle = nn.ModuleList([nn.Linear(12, 12) for _ in range(3)])
        self.head = nn.Linear(12, 4)

    def forward(self, x):
{forward}


net = Net()
layers = [net.first, *net.{used}, net.head] if "{used}" == "middle" else [
    net.first, net.second, net.head]
optimizer = torch.optim.SGD([p for m in layers for p in m.parameters()], lr=0.1)
for _ in range(3):
    x, y = torch.randn(8, 6), torch.randint(0, 4, (8,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FIRST = "h = torch.relu(self.first(x))\n"
LOOP = FIRST + "for layer in self.middle:\n    "
HEAD = "\nreturn self.head(h)"
WRONG = {
    "a loop": (
        "middle", LOOP + "out = layer(h)" + HEAD,
        "nothing reads `out`, which holds what they compute; each of them gets `h`",
        "`h = layer(h)`",
    ),
    "a loop and an activation": (
        "middle", LOOP + "out = torch.relu(layer(h))" + HEAD,
        "nothing reads `out`", "`h = torch.relu(layer(h))`",
    ),
    "two statements": (
        "middle", LOOP + "out = layer(h)\n    out = torch.relu(out)" + HEAD,
        "nothing reads `out`", "`h` for `out`",
    ),
    "the last turn": (
        "middle", LOOP + "out = layer(h)\nreturn self.head(out)",
        "each turn of the loop sets `out` anew, and of these only the last is read",
        "`layer(out)`, with `out = h` before the loop",
    ),
    "one layer": (
        "second", FIRST + "out = torch.relu(self.second(h))" + HEAD,
        "nothing reads `out`", "`h = torch.relu(self.second(h))`",
    ),
}  # fmt: skip
RIGHT = {
    "a chain": ("middle", LOOP + "h = layer(h)" + HEAD),
    "a chain of another name": (
        "middle", FIRST + "out = h\nfor layer in self.middle:\n    out = layer(out)\n"
        "return self.head(out)"),
    "a sum": ("middle", LOOP + "h = h + layer(h)" + HEAD),
    "a list": ("middle", FIRST + "outs = []\nfor layer in self.middle:\n"
               "    out = layer(h)\n    outs.append(out)\nreturn self.head(sum(outs))"),
}  # fmt: skip


def list_findings(folder: Path, used: str, forward: str) -> list[Finding]:
    """Return what is said of missing gradients."""
    text = SCRIPT.format(used=used, forward=indent(forward, " " * 8))
    findings = rehearsed(folder, text).findings
    return [found for found in findings if found.code == "no-gradient"]


@pytest.mark.parametrize("name", WRONG)
def test_a_result_that_nothing_reads_is_named(name: str, tmp_path: Path) -> None:
    used, forward, words, first = WRONG[name]
    (finding,) = list_findings(tmp_path, used, forward)
    assert words in finding.message
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [first]


@pytest.mark.parametrize("name", RIGHT)
def test_results_that_are_read_are_quiet(name: str, tmp_path: Path) -> None:
    assert list_findings(tmp_path, *RIGHT[name]) == []


def test_a_head_for_later_gets_no_edit(tmp_path: Path) -> None:
    forward = FIRST + "extra = self.second(h)" + HEAD.replace("(h)", "(h * 2)")
    (finding,) = list_findings(tmp_path, "second", forward)
    assert "nothing reads `extra`" in finding.message
    assert not [fix for fix in finding.fixes if fix.checked]


def test_a_layer_that_nothing_calls_has_no_result(tmp_path: Path) -> None:
    (finding,) = list_findings(tmp_path, "second", "h = self.first(x)" + HEAD)
    assert "nothing reads" not in finding.message
