"""Pixels that are divided by 255 behind `Normalize`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
IMPORTS

rng = np.random.default_rng(0)
pictures = rng.integers(0, 256, (48, 8, 8, 3)).astype(np.uint8)


class Pictures(Dataset):
    def __init__(self, transform=None):
        self.normalize = BUILT
        self.transform = transform

    def __len__(self):
        return len(pictures)

    def __getitem__(self, i):
        image = pictures[i]
        BODY
        x = np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1))
        return torch.from_numpy(x), i % 3


model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Pictures(), batch_size=16):
    loss = F.cross_entropy(model(x.float()), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OWN = """\
class Normalize:
    def __init__(self, mean=(0.485, 0.456, 0.406), std=(0.23, 0.22, 0.22), top=255.0):
        self.mean, self.std = np.array(mean) * top, np.array(std) * top

    def __call__(self, image):
        return ((image - self.mean) / self.std).astype(np.float32)
"""
LIBRARY = "from torchvision import transforms as T"
WRONG = {
    "a class": (OWN, "Normalize()", "image = self.normalize(image)\n        "
                "image = image.astype('float32') / 255"),
    "one statement": (OWN, "Normalize()", "image = self.normalize(image) / 255.0"),
    "in place": (OWN, "Normalize()", "image = self.normalize(image)\n        "
                 "image /= 255"),
    "a function": (
        OWN + "\ndef normalize(image):\n    return Normalize()(image)\n",
        "normalize",
        "image = normalize(image)\n        image = image / 255",
    ),
    "a library": (
        LIBRARY,
        "T.Compose([T.ToTensor(), T.Normalize([0.5] * 3, (0.229, 0.224, 0.225))])",
        "return self.normalize(image).float() / 255, i % 3",
    ),
}  # fmt: skip
RIGHT = {
    "once": (OWN, "Normalize()", "image = self.normalize(image)"),
    "before": (OWN, "Normalize(top=1.0)", "image = self.normalize(image / 255)"),
    "of ones": (
        OWN, "Normalize((0, 0, 0), (1, 1, 1), 1.0)",
        "image = self.normalize(image) / 255",
    ),
    "another image": (
        OWN, "Normalize()",
        "other = pictures[i].astype('float32') / 255\n        "
        "image = self.normalize(image)",
    ),
    "a library of ones": (
        LIBRARY,
        "T.Compose([T.PILToTensor(), T.Lambda(lambda x: x.float()),"
        " T.Normalize([0.0], [1.0])])",
        "return self.normalize(T.ToPILImage()(image)) / 255, i % 3",
    ),
    "bytes": (
        LIBRARY, "T.Compose([T.ToPILImage(), T.PILToTensor()])",
        "return self.normalize(image) / 255, i % 3",
    ),
}  # fmt: skip


def _write(imports: str, built: str, body: str) -> str:
    """The script with a normalization and its use."""
    text = SCRIPT.replace("IMPORTS", imports).replace("BUILT", built)
    return text.replace("BODY", body)


@pytest.mark.parametrize("name", WRONG)
def test_a_division_behind_a_normalization_is_found(name: str, tmp_path: Path) -> None:
    if "library" in name or name == "bytes":
        pytest.importorskip("torchvision")
    report = rehearsed(tmp_path, _write(*WRONG[name]))
    (finding,) = [f for f in report.findings if f.code == "unscaled-pixels"]
    assert "are normalized already" in finding.message
    assert finding.fixes
    assert "255" not in finding.fixes[0].edits[0].text


@pytest.mark.parametrize("name", RIGHT)
def test_a_single_scale_is_right(name: str, tmp_path: Path) -> None:
    if "library" in name or name == "bytes":
        pytest.importorskip("torchvision")
    report = rehearsed(tmp_path, _write(*RIGHT[name]))
    assert "unscaled-pixels" not in [f.code for f in report.findings]
