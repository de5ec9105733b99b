"""Sizes of layers that are set as attributes: the weights stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
import torch.nn.utils.prune as prune
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.fc = nn.Linear(6, 20)
        self.heads = nn.Sequential(nn.Dropout(0.1), nn.Linear(20, 10, bias=False))

    def forward(self, x):
        x = self.norm(self.stem(x)).relu().mean((2, 3))
        return self.heads(self.fc(x))

class_names = ["a", "b", "c"]
model = Net()
CHANGE
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    images, labels = torch.randn(4, 3, 8, 8), torch.randint(0, 3, (4,))
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def find(folder: Path, change: str) -> list[tuple[str, str, str]]:
    """Code, written line and first checked edit of each finding."""
    text = TRAINING.replace("CHANGE", change)
    lines = text.splitlines()
    return [
        (
            finding.code,
            lines[finding.line - 1].strip(),
            finding.fixes[0].message if finding.fixes else "",
        )
        for finding in rehearsed(folder, text).findings
    ]


@pytest.mark.parametrize(
    ("change", "edit"),
    [
        (
            "model.heads[1].out_features = len(class_names)",
            "`model.heads[1] = nn.Linear(20, len(class_names), bias=False)`",
        ),
        (
            'setattr(model.heads[1], "out_features", 3)',
            "`model.heads[1] = nn.Linear(20, 3, bias=False)`",
        ),
        ("head = model.heads[-1]\nhead.out_features = 3", ""),
        (
            "model.stem.in_channels, old = 3, 0\nmodel.stem.out_channels = 12\n"
            "model.stem.out_channels //= 4",
            "",
        ),
    ],
)
def test_a_size_that_is_set_on_a_layer(tmp_path: Path, change: str, edit: str) -> None:
    codes = [(code, fix) for code, _, fix in find(tmp_path, change)]
    assert codes == [("size-attribute-set", edit)]


def test_both_sizes_of_a_layer_are_one_finding(tmp_path: Path) -> None:
    change = "model.heads[1].in_features = 20\nmodel.heads[1].out_features = 3"
    assert find(tmp_path, change) == [
        (
            "size-attribute-set",
            "model.heads[1].out_features = 3",
            "`model.heads[1] = nn.Linear(20, 3, bias=False)`",
        )
    ]


@pytest.mark.parametrize(
    "change",
    [
        # a new layer that is built of the old one's attributes
        "model.fc.out_features = 20\nmodel.heads[1] = nn.Linear(20, 3)",
        "head = model.heads[1]\nhead.out_features = 3\n"
        "model.heads[1] = nn.Linear(head.in_features, head.out_features)",
        # the weight goes with its size
        "head = model.heads[1]\nhead.weight = nn.Parameter(head.weight[:3].detach())\n"
        "head.out_features = 3",
        "head = model.heads[1]\nhead.weight.data = head.weight.data[:3]\n"
        "head.out_features = 3",
        # a pruned layer, one with another parametrization, an attribute of one's own
        'prune.l1_unstructured(model.fc, "weight", 0.5)\nmodel.num_features = 9',
        "nn.utils.parametrizations.weight_norm(model.fc)\nmodel.out_features = 3",
        "model.stem = nn.Conv2d(3, 6, 3, groups=3)\nmodel.stem.out_channels = 6",
    ],
)
def test_what_agrees_with_the_weight_is_quiet(tmp_path: Path, change: str) -> None:
    assert find(tmp_path, change) == []
