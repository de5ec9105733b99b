"""Samplers with weights, and splits of data sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import (
    BatchSampler, DataLoader, Dataset, RandomSampler, Subset, SubsetRandomSampler,
    TensorDataset, WeightedRandomSampler, random_split,
)

x, y = torch.randn(80, 6), torch.randint(3, (80,))
data = TensorDataset(x, y)
weights = 1 / torch.bincount(y, minlength=3).clamp(min=1)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(loader):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


@torch.no_grad()
def evaluate(loader):
    return sum((model(a).argmax(1) == b).sum().item() for a, b in loader)


"""
WEIGHTS_WRONG = {
    "of classes": "loader = DataLoader(data, 8, sampler="
    "WeightedRandomSampler(weights, len(data)))",
    "a list of classes": "loader = DataLoader(data, 8, sampler="
    "WeightedRandomSampler([0.2, 0.3, 0.5], 80, replacement=True))",
    "in batches": "loader = DataLoader(data, batch_sampler=BatchSampler("
    "WeightedRandomSampler(weights, 80), 8, True))",
    "of a part for the whole": "loader = DataLoader(data, 8, sampler="
    "WeightedRandomSampler(weights[y[:60]], 80))",
}
WEIGHTS_RIGHT = {
    "of samples": "loader = DataLoader(data, 8, sampler="
    "WeightedRandomSampler(weights[y], len(data)))",
    "fewer draws": "loader = DataLoader(data, 8, sampler="
    "WeightedRandomSampler(weights[y], 40))",
    "of a part": "part = Subset(data, range(60))\nloader = DataLoader("
    "part, 8, sampler=WeightedRandomSampler(weights[y[:60]], 200))",
    "samples that come again": """
class Again(Dataset):
    def __len__(self):
        return 4 * len(x)

    def __getitem__(self, index):
        return x[index % len(x)], y[index % len(x)]


loader = DataLoader(Again(), 8, sampler=WeightedRandomSampler(weights[y], 320))""",
    "some indices": "loader = DataLoader(data, 8, sampler="
    "SubsetRandomSampler(range(40)))",
}
SPLIT_WRONG = {
    "random": """
train_set, val_set = random_split(data, [60, 20])
train_loader, val_loader = DataLoader(data, 8, shuffle=True), DataLoader(val_set, 8)
for epoch in range(3):
    train(train_loader)
    evaluate(val_loader)""",
    "the length is read": """
train_set, val_set = random_split(data, [0.75, 0.25])
print(len(train_set), len(val_set))
train_loader = DataLoader(data, 8, shuffle=True)
for epoch in range(3):
    train(train_loader)
evaluate(DataLoader(val_set, 8))""",
    "by hand": """
train_set = Subset(data, range(60))
val_set = Subset(data, range(60, 80))
train(DataLoader(data, 8, shuffle=True))
evaluate(DataLoader(val_set, 8))""",
    "three parts": """
train_set, val_set, test_set = random_split(data, [50, 15, 15])
train(DataLoader(data, 8, shuffle=True))
evaluate(DataLoader(val_set, 8))
evaluate(DataLoader(test_set, 8))""",
}
SPLIT_RIGHT = {
    "both parts": """
train_set, val_set = random_split(data, [60, 20])
train(DataLoader(train_set, 8, shuffle=True))
evaluate(DataLoader(val_set, 8))""",
    "trained on everything at last": """
train_set, val_set = random_split(data, [60, 20])
train(DataLoader(train_set, 8, shuffle=True))
evaluate(DataLoader(val_set, 8))
train(DataLoader(data, 8, shuffle=True))""",
    "a sampler with the indices": """
train_set, val_set = random_split(data, [60, 20])
train(DataLoader(data, 8, sampler=SubsetRandomSampler(train_set.indices)))
evaluate(DataLoader(val_set, 8))""",
    "a sample of the training data": """
probe, _ = random_split(data, [20, 60])
train(DataLoader(data, 8, shuffle=True))
evaluate(DataLoader(probe, 8))""",
    "wrapped": """
class Noisy(Dataset):
    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        a, b = self.inner[index]
        return a + 0.1 * torch.randn(6), b


train_set, val_set = random_split(data, [60, 20])
train(DataLoader(Noisy(train_set), 8, shuffle=True))
evaluate(DataLoader(val_set, 8))""",
}


def test_an_edit_looks_up_the_weight_of_each_sample(tmp_path: Path) -> None:
    text = SCRIPT + WEIGHTS_WRONG["of classes"] + "\ntrain(loader)\n"
    (finding,) = rehearsed(tmp_path, text).findings
    assert [fix.message for fix in finding.fixes] == ["`weights[data.tensors[-1]]`"]


def test_an_edit_reads_the_part_for_training(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, SCRIPT + SPLIT_WRONG["random"]).findings
    assert [fix.message for fix in finding.fixes] == ["`train_set`"]


def _codes(folder: Path, text: str) -> list[str]:
    report = rehearsed(folder, SCRIPT + text)
    assert report.complete
    return [each.code for each in report.findings]


@pytest.mark.parametrize("name", WEIGHTS_WRONG)
def test_other_weights_than_one_for_each_sample(name: str, tmp_path: Path) -> None:
    text = WEIGHTS_WRONG[name] + "\ntrain(loader)\n"
    assert _codes(tmp_path, text) == ["sampler-weights"]


@pytest.mark.parametrize("name", WEIGHTS_RIGHT)
def test_a_weight_for_each_sample_is_right(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, WEIGHTS_RIGHT[name] + "\ntrain(loader)\n") == []


@pytest.mark.parametrize("name", SPLIT_WRONG)
def test_a_loader_of_the_whole_set_is_found(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, SPLIT_WRONG[name]) == ["unused-split"]


@pytest.mark.parametrize("name", SPLIT_RIGHT)
def test_a_split_that_is_used_is_right(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, SPLIT_RIGHT[name]) == []
