"""Tensors of uint8 arrays that a transform of floats is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytest.importorskip("torchvision")

PROGRAM = """\
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
import torchvision.transforms.functional as TF

class Tiles(Dataset):
    def __init__(self, tiles, transform=None):
        self.tiles, self.transform = tiles, transform

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, index):
        {}
        return tile

tiles = np.random.randint(0, 256, (8, 3, 16, 16)).astype(np.uint8)
normalize = transforms.Normalize([0.5] * 3, [0.5] * 3)
for batch in DataLoader(Tiles(tiles, normalize), batch_size=4):
    print(batch.shape, batch.dtype)
"""


def rehearse_items(folder: Path, lines: str, more: str = "") -> list[str]:
    """Return the first fix of each finding on a data set with those lines."""
    text = PROGRAM.format(lines.replace("\n", "\n        ")) + more
    return [
        finding.fixes[0].message if finding.fixes else ""
        for finding in rehearsed(folder, text).findings
    ]


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        ("tile = torch.from_numpy(self.tiles[index])\ntile = self.transform(tile)",
         "`torch.from_numpy(self.tiles[index]).float() / 255`"),
        ("tile = self.transform(torch.as_tensor(self.tiles[index]))",
         "`torch.as_tensor(self.tiles[index]).float() / 255`"),
        ("tile = torch.from_numpy(self.tiles[index]).flip(-1)\n"
         "tile = TF.normalize(tile, [0.5] * 3, [0.5] * 3)",
         "`torch.from_numpy(self.tiles[index]).float().div(255)`"),
    ],
)  # fmt: skip
def test_numbers_are_converted_where_the_tensor_is_made(
    tmp_path: Path, lines: str, fix: str
) -> None:
    assert rehearse_items(tmp_path, lines) == [fix]


def test_a_program_that_divides_later_gets_floats_alone(tmp_path: Path) -> None:
    lines = "tile = torch.from_numpy(self.tiles[index])\ntile = self.transform(tile)"
    fixes = rehearse_items(tmp_path, lines, "    print((batch / 255).mean())\n")
    assert fixes == ["`torch.from_numpy(self.tiles[index]).float()`"]


@pytest.mark.parametrize(
    "lines",
    [
        "tile = self.transform(torch.from_numpy(self.tiles[index]).float() / 255)",
        "tile = torch.from_numpy(self.tiles[index] / 255.0).float()\n"
        "tile = self.transform(tile)",
    ],
)
def test_floats_are_no_mistake(tmp_path: Path, lines: str) -> None:
    assert rehearse_items(tmp_path, lines) == []
