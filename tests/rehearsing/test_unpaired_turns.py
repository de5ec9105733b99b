"""Images that are turned by a draw, and masks that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Cells(Dataset):
    def __init__(self):
        self.images = torch.randn(16, 3, 8, 8)
        self.masks = torch.randint(0, 2, (16, 8, 8))

    def __len__(self):
        return 16

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        {turn}
        return image, mask


model = torch.nn.Conv2d(3, 2, 3, padding=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for image, mask in DataLoader(Cells(), batch_size=4, shuffle=True):
    loss = F.cross_entropy(model(image), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DRAW = "if random.random() < 0.5:\n            "
WRONG = {
    "one of them": (DRAW + "image = image.flip(-1)", "`mask = mask.flip(-1)` below it"),
    "by torch": (
        DRAW + "image = torch.flip(image, dims=[-2])",
        "`mask = torch.flip(mask, dims=[-2])` below it",
    ),
    "other dims": (
        DRAW + "image, mask = image.flip(-1), mask.flip(-2)", "`mask.flip(-1)`",
    ),
}  # fmt: skip
RIGHT = {
    "both": DRAW + "image, mask = image.flip(-1), mask.flip(-1)",
    "both, in turn": DRAW + "image = image.flip(-1)\n            mask = mask.flip(-1)",
    "dims from the first one": DRAW + "image, mask = image.flip(2), mask.flip(1)",
    "colours": DRAW + "image = image[[2, 1, 0]] * 1.1",
    "always": "image = image.flip(-1)",
    "elsewhere": (
        DRAW + "image, mask = image.flip(-1), mask.flip(-1)\n        "
        + DRAW + "image = image * 0.9"
    ),
    "a mask of the image": (
        DRAW + "image = image.flip(-1)\n        mask = (image[0] > 0).long()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mask_that_stays_is_found(name: str, tmp_path: Path) -> None:
    turn, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT.replace("{turn}", turn)).findings
    assert [finding.code for finding in findings] == ["separate-draws"]
    assert findings[0].fixes[0].message == edit
    assert findings[0].fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_pairs_that_fit_are_quiet(name: str, tmp_path: Path) -> None:
    text = SCRIPT.replace("{turn}", RIGHT[name])
    assert rehearsed(tmp_path, text).findings == ()


def test_a_label_of_the_whole_image_is_quiet(tmp_path: Path) -> None:
    text = SCRIPT.replace("{turn}", WRONG["one of them"][0])
    text = text.replace("(0, 2, (16, 8, 8))", "(0, 2, (16,))")
    text = text.replace("model(image)", "model(image).mean((2, 3))")
    assert rehearsed(tmp_path, text).findings == ()
