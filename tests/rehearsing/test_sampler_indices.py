"""Samplers of whole batches, and of parts with the indices of the whole data set."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

WORDS = """\
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Sampler

class Words(Dataset):
    texts = ["one two", "three", "four five six", "seven", "eight nine", "ten"]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        {read}

class Batches(Sampler):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count // 2

    def __iter__(self):
        order = torch.randperm(self.count).tolist()
        for at in range(0, self.count, 2):
            {chunk}

words = Words()
sampler = BatchSampler(RandomSampler(words), 2, False)
{loader}
for lengths in loader:
    print(lengths.shape)
"""
READ = "return len(self.texts[index].split())"
CHUNK = "yield order[at : at + 2]"
OF_BATCHES = [
    ("loader = DataLoader(words, sampler=sampler)", READ, "batch_sampler=sampler"),
    (
        "loader = DataLoader(words, batch_size=2, sampler=sampler, num_workers=0)",
        READ,
        "DataLoader(words, batch_sampler=sampler, num_workers=0)",
    ),
    (
        "loader = DataLoader(words, 2, sampler=Batches(len(words)), drop_last=True)",
        READ,
        "DataLoader(words, batch_sampler=Batches(len(words)))",
    ),
    (
        "loader = DataLoader(words, sampler=Batches(6))",
        "text = self.texts[index]\n        return len(text)",
        "batch_sampler=Batches(6)",
    ),
]


@pytest.mark.parametrize(("loader", "read", "new"), OF_BATCHES)
def test_a_sampler_of_batches_is_a_batch_sampler(
    tmp_path: Path, loader: str, read: str, new: str
) -> None:
    text = WORDS.format(loader=loader, read=read, chunk=CHUNK)
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "takes whole batches" in finding.message
    assert [fix.message for fix in finding.fixes] == [f"`{new}`"]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("loader", "read", "chunk"),
    [
        ("loader = DataLoader(words, batch_sampler=sampler)", READ, CHUNK),
        (
            "loader = DataLoader(words, batch_size=None, sampler=sampler)",
            "return torch.tensor([len(self.texts[i]) for i in index])",
            CHUNK,
        ),
        (
            "loader = DataLoader(words, 2, sampler=Batches(6))",
            READ,
            "yield from order[at : at + 2]",
        ),
    ],
)
def test_samplers_that_fit_their_loaders_are_quiet(
    tmp_path: Path, loader: str, read: str, chunk: str
) -> None:
    text = WORDS.format(loader=loader, read=read, chunk=chunk)
    assert rehearsed(tmp_path, text).findings == ()


def test_a_list_as_an_index_may_be_meant_otherwise(tmp_path: Path) -> None:
    loader = "loader = DataLoader(words, 2, sampler=Batches(6))"
    read = "return self.texts[[index, index]]"
    text = WORDS.format(loader=loader, read=read, chunk="yield from order[at : at + 2]")
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.code == "program-error"
    assert "whole batches" not in finding.message


PARTS = """\
import torch
from torch.utils.data import (
    DataLoader, Subset, SubsetRandomSampler, TensorDataset, random_split,
)

x, y = torch.randn(50, 4), torch.randint(0, 2, (50,))
full = TensorDataset(x, y)
order = list(range(50))
train_idx, val_idx = order[:40], order[40:]
{loader}
for a, b in loader:
    print(a.shape, b.shape)
"""
OF_WHOLE = [
    "part = Subset(full, val_idx)\n"
    "loader = DataLoader(part, 5, sampler=SubsetRandomSampler(val_idx))",
    "part = Subset(full, val_idx)\n"
    "sampler = SubsetRandomSampler(part.indices)\n"
    "loader = DataLoader(part, 5, sampler=sampler)",
    "part = TensorDataset(x[val_idx], y[val_idx])\n"
    "loader = DataLoader(part, 5, sampler=SubsetRandomSampler(val_idx))",
    "part = Subset(full, torch.tensor(val_idx))\n"
    "loader = DataLoader(part, 5, sampler=SubsetRandomSampler(part.indices))",
]


@pytest.mark.parametrize("loader", OF_WHOLE)
def test_a_part_is_numbered_from_zero(tmp_path: Path, loader: str) -> None:
    finding = rehearsed(tmp_path, PARTS.format(loader=loader)).findings[-1]
    assert "`part` is numbered from 0" in finding.message
    assert [fix.message for fix in finding.fixes] == [
        "`SubsetRandomSampler(range(len(part)))`"
    ]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "loader",
    [
        "loader = DataLoader(full, 5, sampler=SubsetRandomSampler(val_idx))",
        "part = Subset(full, val_idx)\n"
        "loader = DataLoader(part, 5, sampler=SubsetRandomSampler(range(len(part))))",
        "part = Subset(full, train_idx)\n"
        "loader = DataLoader(part, 5, sampler=SubsetRandomSampler(train_idx))",
    ],
)
def test_indices_that_the_data_set_has_are_quiet(tmp_path: Path, loader: str) -> None:
    assert rehearsed(tmp_path, PARTS.format(loader=loader)).findings == ()
