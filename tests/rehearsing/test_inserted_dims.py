"""What adds the dim of size 1 that the items of a data set have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

IMAGES = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Scans(Dataset):
    def __len__(self):
        return 8

    def prepare(self, scan):
        if scan.ndim == 2:
            scan = {added}
        return scan.astype(np.float32) / 255

    def __getitem__(self, i):
        scan = np.zeros(({shape}), dtype=np.uint8)
        image = self.prepare(scan)
        return torch.from_numpy(image), i % 2

model = nn.Conv2d(3, 2, 3)
for images, labels in DataLoader(Scans(), batch_size=4):
    model(images).sum().backward()
"""


@pytest.mark.parametrize(
    ("added", "shape", "message"),
    [
        (
            "scan[None]",
            "9, 9",
            "got: 1 is the dim that `scan[None]` adds to the items that lack it",
        ),
        (
            "np.expand_dims(scan, 0)",
            "9, 9",
            "got: 1 is the dim that `np.expand_dims(scan, 0)` adds to the items",
        ),
        ("scan.reshape(1, 9, 9)", "9, 9", "got: 1 comes from `torch.stack`, which"),
        ("scan[None]", "9, 1", "got: 1 comes from `torch.stack`, which"),
    ],
)
def test_the_expression_that_adds_a_channel_is_named(
    added: str, shape: str, message: str, tmp_path: Path
) -> None:
    text = IMAGES.format(added=added, shape=shape)
    finding = rehearsed(tmp_path, text).findings[0]
    (got,) = [r for r in finding.related if r.message.startswith("got: ")]
    assert got.message.startswith(message)
    assert got.span.line == (12 if "adds" in message else 21)
