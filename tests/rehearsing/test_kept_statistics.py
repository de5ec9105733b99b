"""Running sums that keep the graphs of what was added, beside legal programs."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 6))
model, head = nn.Linear(6, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)


class Statistics:
    def __init__(self):
        self.total, self.count = torch.zeros(4, 4), 0

    def add(self, z):
        self.total = self.total + z.t() @ z
        self.count += len(z)


statistics, mean, old = Statistics(), torch.zeros(4), torch.zeros(())
for (x,) in DataLoader(data, batch_size=8):
    z = model(x)
    loss = head(z.relu()).square().mean()
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
{after}
"""
KEPT = {
    "an attribute": ("statistics.add(z)", "self.total"),
    "an average": ("mean = 0.9 * mean + 0.1 * z.mean(0)", "mean"),
    "in place": ("mean += z.mean(0)", "mean"),
    "a method in place": ("mean.add_(z.mean(0))", "mean"),
    "subtracted in place": ("mean.sub_(z.mean(0) * 0.1)", "mean"),
    "a difference": ("mean = mean - z.mean(0)", "mean"),
}
FREED = {
    "detached": "statistics.add(z.detach())",
    "no gradients": "with torch.no_grad():\n    statistics.add(z)",
    "of the data": "mean = 0.9 * mean + 0.1 * x[:, :4].mean(0)",
    "cut each time": "mean = 0.9 * mean.detach() + 0.1 * z.mean(0)",
    "a part of the loss":
        "mean = 0.9 * mean.detach() + 0.1 * z.mean(0)\nloss = loss + mean.sum()",
    "weights that are updated by hand":
        "with torch.no_grad():\n    head.weight += 0.1 * head.weight.detach()\n"
        "    head.weight.sub_(0.1 * head.weight)",
    "begun anew": "mean = torch.zeros(4)\nfor row in z:\n    mean = mean + row",
}  # fmt: skip


def find_messages(folder: Path, body: str, after: str = "") -> list[str]:
    report = rehearsed(folder, SCRIPT.format(body=indent(body, "    "), after=after))
    assert report.complete, report
    return [f.message for f in report.findings if f.code == "graph-kept"]


@pytest.mark.parametrize("name", KEPT)
def test_a_sum_with_the_graphs_of_all_turns_is_found(name: str, tmp_path: Path) -> None:
    body, kept = KEPT[name]
    (message,) = find_messages(tmp_path, body)
    assert message.startswith(f"`{kept}` is kept with its graph")


@pytest.mark.parametrize("name", FREED)
def test_sums_without_old_graphs_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_messages(tmp_path, FREED[name]) == []


def test_a_sum_that_is_differentiated_is_quiet(tmp_path: Path) -> None:
    body = "mean = mean + model(x).mean(0)"
    text = SCRIPT.format(body=indent(body, "    "), after="mean.sum().backward()")
    text = text.replace("    optimizer.step()\n", "")
    report = rehearsed(tmp_path, text)
    assert "graph-kept" not in [finding.code for finding in report.findings]


def test_what_is_added_is_cut_too(tmp_path: Path) -> None:
    """The sum of a detached mean and a new one still has the new one's graph."""
    body = KEPT["an average"][0]
    report = rehearsed(tmp_path, SCRIPT.format(body=indent(body, "    "), after=""))
    (found,) = [each for each in report.findings if each.code == "graph-kept"]
    assert found.fixes[0].message == "`(0.9 * mean + 0.1 * z.mean(0)).detach()`"
