"""Masks of colours given as classes: each pixel's number in the program's list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

{palette}

class Pictures(Dataset):
    def __init__(self):
        self.masks = np.zeros((4, 8, 8, 3), dtype=np.uint8)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        mask = torch.from_numpy(self.masks[i]).permute(2, 0, 1).long()
        return torch.rand(3, 8, 8), mask{scale}

net = nn.Conv2d(3, 4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Pictures(), batch_size=2):
    loss = nn.functional.cross_entropy(net(x), y{used})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ROWS = "[[0, 0, 0], [255, 0, 0], [0, 0, 255], [9, 9, 9]]"
REST = "[:, :, None, None]).all(dim=1).long().argmax(dim=0)"


@pytest.mark.parametrize(
    ("palette", "colours"),
    [
        (f"COLOURS = {ROWS}", "COLOURS"),
        (f"COLOURS = np.array({ROWS}, dtype=np.uint8)", "COLOURS"),
        (
            'COLOURS = {"sky": (0, 0, 0), "car": (255, 0, 0), "man": (0, 0, 255),'
            ' "dog": (9, 9, 9)}',
            "list(COLOURS.values())",
        ),
        (
            "COLOURS = {(0, 0, 0): 0, (255, 0, 0): 1, (0, 0, 255): 2, (9, 9, 9): 3}",
            "list(COLOURS)",
        ),
    ],
)
def test_the_numbers_of_the_colours_are_the_classes(
    tmp_path: Path, palette: str, colours: str
) -> None:
    text = PROGRAM.format(palette=palette, scale="", used="")
    (error,) = rehearsed(tmp_path, text).findings
    assert error.code == "target-shape"
    new = f"mask = (mask == torch.as_tensor({colours}){REST}"
    assert error.fixes[0].message == f"`{new}`"
    assert error.fixes[0].checked


@pytest.mark.parametrize(
    ("palette", "scale"),
    [
        ("COLOURS = [[0, 0, 0], [255, 0, 0]]", ""),
        ("WEIGHTS = [0.1, 0.2, 0.3, 0.4]", ""),
        pytest.param(f"COLOURS = {ROWS}", " / 255", marks=pytest.mark.long),
    ],
)
def test_no_list_that_fits_suggests_nothing(
    tmp_path: Path, palette: str, scale: str
) -> None:
    text = PROGRAM.format(palette=palette, scale=scale, used="")
    for finding in rehearsed(tmp_path, text).findings:
        assert not any("as_tensor" in fix.message for fix in finding.fixes)


def test_classes_are_no_mistake(tmp_path: Path) -> None:
    used = "[:, 0] % 3"
    text = PROGRAM.format(palette=f"COLOURS = {ROWS}", scale="", used=used)
    assert not rehearsed(tmp_path, text).findings
