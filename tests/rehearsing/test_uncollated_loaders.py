"""A loader without the `collate_fn` that another loader of the program has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

class Words(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.zeros(3 + i, 2)

def pad(items):
    return pad_sequence(items, batch_first=True)

def count(batches):
    return sum(len(batch) for batch in batches)

{}
"""


@pytest.mark.parametrize(
    "loop",
    [
        "for batch in held:\n    print(batch.shape)",
        "for i, batch in enumerate(held):\n    print(batch.shape)",
        "batch = next(iter(held))",
        "print(count(first), count(held))",
    ],
)
def test_the_loader_of_the_loop_is_named(tmp_path: Path, loop: str) -> None:
    loaders = (
        "first = DataLoader(Words(), batch_size=4, collate_fn=pad)\n"
        "held = DataLoader(Words(), batch_size=4)\n"
    )
    (error,) = rehearsed(tmp_path, PROGRAM.format(loaders + loop)).findings
    assert error.message.endswith("`held` has no `collate_fn`, which `first` has")


@pytest.mark.parametrize(
    "loaders",
    [
        "held = DataLoader(Words(), batch_size=4)\n",
        "first = DataLoader(Words(), batch_size=4)\n"
        "held = DataLoader(Words(), batch_size=4)\n",
    ],
)
def test_without_another_function_no_loader_is_blamed(
    tmp_path: Path, loaders: str
) -> None:
    text = PROGRAM.format(loaders + "for batch in held:\n    print(batch.shape)")
    (error,) = rehearsed(tmp_path, text).findings
    assert "`collate_fn`, which" not in error.message
