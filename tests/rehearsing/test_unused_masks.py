"""Losses over all nodes of a graph, of which masks say what is for training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn


class Graph:
    def __init__(self):
        self.x, self.y = torch.randn(40, 6), torch.randint(3, (40,))
        order = torch.randperm(40)
        self.train_mask = torch.zeros(40, dtype=torch.bool)
        self.train_mask[order[:20]] = True
        self.test_mask = ~self.train_mask


def measure(graph, rows):
    with torch.no_grad():
        return (model(graph.x).argmax(1)[rows] == graph.y[rows]).float().mean().item()


g, model = Graph(), nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
labels = g.y.clone()
for epoch in range(3):
    optimizer.zero_grad()
    out = model(g.x)
    LOSS
    loss.backward()
    optimizer.step()
print(measure(g, g.test_mask))
"""
WRONG = {
    "all nodes": "loss = F.cross_entropy(out, g.y)",
    "with weights of classes": "loss = F.cross_entropy(out, g.y, weight=torch.ones(3))",
}
RIGHT = {
    "the nodes for training": "loss = F.cross_entropy(out[g.train_mask],"
    " g.y[g.train_mask])",
    "weighed by the mask": "loss = F.cross_entropy(out, g.y, reduction='none')\n"
    "    loss = (loss * g.train_mask).sum() / g.train_mask.sum()",
    "labels that are ignored": "labels[~g.train_mask] = -100\n"
    "    loss = F.cross_entropy(out, labels)",
    "what is reconstructed": "rebuilt = out @ model.weight\n"
    "    loss = F.mse_loss(rebuilt, g.x)",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_loss_over_the_nodes_for_evaluation(name: str, tmp_path: Path) -> None:
    loss = WRONG[name]
    (finding,) = rehearsed(tmp_path, SCRIPT.replace("LOSS", loss)).findings
    assert finding.code == "unused-split"
    assert "`g.test_mask` among them" in finding.message
    message = finding.fixes[0].message
    assert message.startswith("`F.cross_entropy(out[g.train_mask], g.y[g.train_mask]")


@pytest.mark.parametrize("name", RIGHT)
def test_a_loss_over_the_nodes_for_training(name: str, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, SCRIPT.replace("LOSS", RIGHT[name])).findings
