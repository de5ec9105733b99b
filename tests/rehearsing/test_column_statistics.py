"""Images that are standardized by a mean and a deviation for each column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

images, labels = torch.rand({shape}), torch.randint(0, 4, (48,))
{statistics}
data = TensorDataset(images, labels)
model = nn.Sequential({layers})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=16):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SHAPE = "48, 3, 8, 10"
LAYERS = "nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()"
WRONG = {
    "words": "mean, std = images.mean(dim=(0, 1, 2)), images.std(dim=(0, 1, 2))\n"
             "images = (images - mean) / std",
    "places": "mean, std = images.mean((0, 1, 2)), images.std((0, 1, 2))\n"
              "images -= mean\nimages /= std",
    "of torch": "mean = torch.mean(images, dim=[0, 1, 2], keepdim=True)\n"
                "std = torch.std(images, dim=[0, 1, 2], keepdim=True)\n"
                "images = (images - mean) / (std + 1e-6)",
    "of a part": "mean, std = images[:40].mean((0, 1, 2)), images[:40].std((0, 1, 2))\n"
                 "images = (images - mean) / std",
}  # fmt: skip
RIGHT = {
    "channels": (
        "mean = images.mean((0, 2, 3), keepdim=True)\nimages = images - mean",
        SHAPE,
        LAYERS,
    ),
    "pixels": ("images = images - images.mean(0)", SHAPE, LAYERS),
    "all": ("images = (images - images.mean()) / images.std()", SHAPE, LAYERS),
    "last dim": (
        "mean, std = images.mean((0, 1, 2)), images.std((0, 1, 2))\n"
        "images = ((images - mean) / std).permute(0, 3, 1, 2)",
        "48, 8, 10, 3",
        LAYERS,
    ),
    "features": (
        "mean, std = images.mean((0, 1, 2)), images.std((0, 1, 2))\n"
        "images = (images - mean) / std",
        SHAPE,
        "nn.Linear(10, 4), nn.Flatten(), nn.Linear(96, 4)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_statistics_of_columns_are_told(case: str, tmp_path: Path) -> None:
    text = SCRIPT.format(statistics=WRONG[case], shape=SHAPE, layers=LAYERS)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "wrong-axis"
    assert [each.message for each in finding.fixes if each.checked] == [
        "`dim=(0, 2, 3), keepdim=True` for each mean and deviation"
    ]


@pytest.mark.parametrize("case", RIGHT)
def test_other_statistics_are_quiet(case: str, tmp_path: Path) -> None:
    statistics, shape, layers = RIGHT[case]
    text = SCRIPT.format(statistics=statistics, shape=shape, layers=layers)
    assert not rehearsed(tmp_path, text).findings
