"""New images that a model is asked about without the `Normalize` of its training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = torch.tensor(mean), torch.tensor(std)

    def __call__(self, image):
        return (image - self.mean[:, None, None]) / self.std[:, None, None]


scale = Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


class Photos(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        photo = np.random.default_rng(i).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        x = torch.tensor(photo.transpose(2, 0, 1) / 255.0, dtype=torch.float32)
        return scale(x), i % 3


def infer(model, photo):
    INFER


model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
optimizer = torch.optim.Adam(model.parameters())
for x, y in DataLoader(Photos(), 4, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    photo = np.random.default_rng(99).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    print(infer(model, photo))
"""
ARRAY = "photo.transpose(2, 0, 1)"
WRONG = {
    "scaled in NumPy": (
        f"x = torch.tensor({ARRAY} / 255.0, dtype=torch.float32)\n"
        "    return model(x[None]).argmax(1)",
        "`x = scale(x)`",
    ),
    "scaled in torch": (
        f"image = torch.from_numpy({ARRAY}.copy()).float() / 255\n"
        "    image = image.unsqueeze(0)\n    return model(image).softmax(1)",
        "`image = scale(image)`",
    ),
}
RIGHT = {
    "normalized": (
        f"x = scale(torch.tensor({ARRAY} / 255.0, dtype=torch.float32))\n"
        "    return model(x[None]).argmax(1)"
    ),
    "normalized by hand": (
        f"x = torch.tensor({ARRAY} / 255.0, dtype=torch.float32)\n"
        "    x = (x - scale.mean[:, None, None]) / 0.225\n"
        "    return model(x[None]).argmax(1)"
    ),
    "normalized elsewhere": ("x = Photos()[0][0]\n    return model(x[None]).argmax(1)"),
    "what is not an image": (
        f"x = torch.tensor({ARRAY}).float()\n    return model(x[None]).argmax(1)"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_image_without_normalization_is_told(name: str, tmp_path: Path) -> None:
    body, edit = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.replace("INFER", body))
    (finding,) = (f for f in report.findings if f.severity != "note")
    assert finding.code == "unequal-transforms"
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_other_images_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("INFER", RIGHT[name]))
    assert "unequal-transforms" not in [finding.code for finding in report.findings]
