"""Means and deviations of `Normalize` of another scale than its pixels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytest.importorskip("torchvision")
PROGRAM = """\
import numpy as np
import torch
from PIL import Image
from torchvision import transforms

MEAN = {mean}
STD = {std}
transform = transforms.Compose([
    transforms.{first}(),
    transforms.Normalize(mean=MEAN, std=STD),
])
images = np.random.randint(0, 255, (16, 8, 8, 3), dtype=np.uint8)
x = torch.stack([transform({image}) for image in images])
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = torch.nn.functional.cross_entropy(model(x), torch.randint(0, 10, (16,)))
loss.backward()
optimizer.step()
"""
OF_BYTES = {"mean": "(125.3, 123.0, 113.9)", "std": "(63.0, 62.1, 66.7)"}
TWICE = {
    "mean": "[m / 255.0 for m in [0.507, 0.487, 0.441]]",
    "std": "[s / 255.0 for s in [0.267, 0.256, 0.276]]",
}
ARRAYS = {key: f"np.array({value}) / 255" for key, value in OF_BYTES.items()}


def list_messages(folder: Path, **parts: str) -> list[tuple[str, list[str]]]:
    """Return what is said of the scale, with the tried fixes."""
    parts = {"first": "ToTensor", "image": "Image.fromarray(image)"} | parts
    return [
        (finding.message, [fix.message for fix in finding.fixes if fix.checked])
        for finding in rehearsed(folder, PROGRAM.format(**parts)).findings
        if finding.code == "unscaled-pixels"
    ]


def test_statistics_of_bytes_are_divided(tmp_path: Path) -> None:
    ((message, fixes),) = list_messages(tmp_path, **OF_BYTES)
    assert "a mean of 125.3 and a deviation of 63 of bytes" in message
    assert fixes == ["each mean and deviation `/ 255`"]


def test_statistics_that_are_divided_again_are_taken_as_they_are(
    tmp_path: Path,
) -> None:
    ((message, fixes),) = list_messages(tmp_path, **TWICE)
    assert "numbers up to 953" in message
    assert fixes == ["`[0.507, 0.487, 0.441]` and `[0.267, 0.256, 0.276]`, not divided"]


@pytest.mark.parametrize(
    "parts",
    [
        {"mean": "(0.5, 0.5, 0.5)", "std": "(0.5, 0.5, 0.5)"},
        ARRAYS,
        OF_BYTES | {"image": "image.astype('float32')"},
        OF_BYTES | {"first": "PILToTensor", "image": "Image.fromarray(image)"},
    ],
    ids=["usual", "divided", "floats", "bytes"],
)
def test_statistics_of_the_scale_of_the_pixels_are_quiet(
    parts: dict[str, str], tmp_path: Path
) -> None:
    assert not list_messages(tmp_path, **parts)


MASKS = """\
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Scans(Dataset):
    def __init__(self):
        self.mask_tf = transforms.Compose([transforms.Resize((8, 8)), {last}])

    def __len__(self):
        return 24

    def __getitem__(self, i):
        image, mask = torch.rand(1, 8, 8), np.zeros((12, 12), dtype=np.uint8)
        mask[2:8, 2:8] = {number}
        return image, self.mask_tf(Image.fromarray(mask))


net = torch.nn.Conv2d(1, 3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Scans(), batch_size=8):
    loss = torch.nn.functional.cross_entropy(net(x), y.squeeze(1){cast})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("number", "last", "cast", "fixes"),
    [
        (2, "transforms.ToTensor()", ".long()", ["`transforms.PILToTensor()`"]),
        (2, "transforms.PILToTensor()", ".long()", None),
        (2, "transforms.ToTensor()", ".mul(255).long()", None),
        (255, "transforms.ToTensor()", ".long()", None),
    ],
)
def test_masks_of_classes_that_are_divided_and_cast(
    number: int, last: str, cast: str, fixes: list[str] | None, tmp_path: Path
) -> None:
    text = MASKS.format(number=number, last=last, cast=cast)
    findings = rehearsed(tmp_path, text).findings
    told = [f for f in findings if f.code == "scaled-labels"]
    assert [[fix.message for fix in f.fixes if fix.checked] for f in told] == (
        [fixes] if fixes else []
    )


TURNED = {"mean": "(0.406, 0.456, 0.485)", "std": "(0.225, 0.224, 0.229)"}
COLOURS = {"image": "Image.fromarray(image).convert('RGB')"}


def test_a_known_mean_from_blue_to_red_is_turned(tmp_path: Path) -> None:
    ((message, fixes),) = list_messages(tmp_path, **TURNED, **COLOURS)
    assert "it is (0.485, 0.456, 0.406)" in message
    assert fixes == ["`(0.485, 0.456, 0.406)` and `(0.229, 0.224, 0.225)`"]


@pytest.mark.parametrize(
    "parts",
    [
        {"mean": "(0.485, 0.456, 0.406)", "std": "(0.229, 0.224, 0.225)"} | COLOURS,
        TURNED | {"image": "Image.fromarray(image[..., ::-1].copy()).convert('RGB')"},
        TURNED,
        {"mean": "(0.4, 0.45, 0.48)", "std": "(0.2, 0.2, 0.2)"} | COLOURS,
    ],
    ids=["from red", "turned pixels", "unknown pixels", "another mean"],
)
def test_other_orders_are_quiet(parts: dict[str, str], tmp_path: Path) -> None:
    assert not list_messages(tmp_path, **parts)
