"""Borders of label maps that are filled with a class, while the loss ignores another
number.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

{classes}


class Pad:
    def __init__(self, size, ignored=0):
        self.size, self.ignored = size, ignored

    def __call__(self, image, mask):
        room = self.size - 16
{pad}
        return torch.as_tensor(image), torch.as_tensor(mask).long()


class Scenes(Dataset):
    def __init__(self):
        self.pad = {built}

    def __len__(self):
        return 12

    def __getitem__(self, index):
        image = np.full((3, 16, 16), index / 12, np.float32)
        mask = np.full((16, 16), index % 4, np.int64)
        return self.pad(image, mask)


model = nn.Conv2d(3, 4, 1)
criterion = nn.CrossEntropyLoss({ignored})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for image, mask in DataLoader(Scenes(), 4, shuffle=True):
    loss = criterion(model(image), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TENSORS = """
image = F.pad(torch.from_numpy(image), (0, room, 0, room), value=0.0)
mask = F.pad(torch.from_numpy(mask), (0, room, 0, room), value=self.ignored)
"""
ARRAYS = """
image = np.pad(image, ((0, 0), (0, room), (0, room)))
mask = np.pad(mask, ((0, room), (0, room)), 'constant')
"""
PLAIN = {
    "classes": "CLASSES = ['road', 'building', 'sky', 'tree']", "pad": TENSORS,
    "built": "Pad(24)", "ignored": "ignore_index=255",
}  # fmt: skip
WRONG = {
    "a number that is kept": ({}, "`Pad(24, ignored=255)`"),
    "a comment": (
        {"classes": "NUM_CLASSES = 4  # road, building, sky, tree"},
        "`Pad(24, ignored=255)`",
    ),
    "numbers with names": (
        {"classes": "label_names = {0: 'car', 1: 'bus', 2: 'tree', 3: 'sky'}"},
        "`Pad(24, ignored=255)`",
    ),
    "a number that is passed": ({"built": "Pad(24, ignored=0)"}, "`ignored=255`"),
    "a number in the call": (
        {"pad": TENSORS.replace("self.ignored", "0")},
        "`255`",
    ),
    "no number": (
        {"pad": TENSORS.replace(", value=self.ignored", "")},
        "value=255)",
    ),
    "arrays": ({"pad": ARRAYS}, "`constant_values=255`"),
}
RIGHT = {
    "the number that is ignored": {"built": "Pad(24, ignored=255)"},
    "a background": {"classes": "CLASSES = ['background', 'car', 'bus', 'tree']"},
    "no names": {"classes": "NUM_CLASSES = 4"},
    "names of other things": {"classes": "CLASSES = ['road', 'sky']"},
    "nothing is ignored": {"ignored": ""},
    "class 0 is ignored": {"ignored": "ignore_index=0"},
    "labels that begin at 1": {"pad": TENSORS + "mask = mask - 1 + (mask == 0)\n"},
    "zeros that are replaced": {"pad": TENSORS + "mask[mask == 0] = 255\n"},
    "reflected": {"pad": ARRAYS.replace("'constant'", "mode='reflect'")},
    "the picture alone": {"pad": "room = room"},
}


def _find_borders(folder: Path, changes: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Return the messages of padded targets, with those of their edits."""
    parts = {**PLAIN, **changes}
    parts["pad"] = indent(dedent(parts["pad"]).strip(), " " * 8)
    report = rehearsed(folder, TEXT.format(**parts))
    assert report.complete
    return [
        (finding.message, [fix.message for fix in finding.fixes if fix.checked])
        for finding in report.findings
        if finding.code == "padded-targets"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_borders_of_a_class_are_found(name: str, tmp_path: Path) -> None:
    changes, edit = WRONG[name]
    ((message, fixes),) = _find_borders(tmp_path, changes)
    assert "the loss ignores 255" in message
    assert len(fixes) == 1
    assert edit.strip("`") in fixes[0]


@pytest.mark.parametrize("name", RIGHT)
def test_other_borders_are_right(name: str, tmp_path: Path) -> None:
    assert _find_borders(tmp_path, RIGHT[name]) == []
