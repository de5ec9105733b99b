"""Images in grey for models of libraries that take colours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SCRIPT = """\
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms as T


class Scans(Dataset):
    def __init__(self, transform, target_transform=None):
        self.transform = transform

    def __len__(self):
        return 8

    def __getitem__(self, i):
        image = {image}
        return self.transform(image), i % 3


{transforms}
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Scans(train_transform), batch_size=4):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    for images, y in DataLoader(Scans(test_transform), batch_size=4):
        print((model(images).argmax(1) == y).sum())
"""
PICTURE = "Image.fromarray(np.zeros((64, 64), np.uint8))"
RESNET = "models.resnet18(num_classes=3)"
TWO = """\
train_transform = T.Compose([T.RandomHorizontalFlip(), T.ToTensor()])
test_transform = T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))])
"""
SHARED = "train_transform = test_transform = T.ToTensor()"
COLOURS = "T.Grayscale(num_output_channels=3)"


def get_edits(folder: Path, image: str, transforms: str, model: str) -> list[str]:
    """Return the edits of the first checked fix of the only error."""
    pytest.importorskip("torchvision")
    text = SCRIPT.format(image=image, transforms=transforms, model=model)
    report = rehearsed(folder, text)
    errors = [f for f in report.findings if f.severity == "error"]
    assert len(errors) <= 1
    return [edit.text for error in errors for edit in error.fixes[0].edits]


@pytest.mark.parametrize(
    ("image", "transforms", "edits"),
    [
        (PICTURE, TWO, [f"{COLOURS}, T.ToTensor()"] * 2),
        (PICTURE, SHARED, [f"T.Compose([{COLOURS}, T.ToTensor()])"]),
        (PICTURE, TWO.replace("T.RandomHorizontalFlip()", "T.Grayscale()"),
         [COLOURS, f"{COLOURS}, T.ToTensor()"]),
        (PICTURE, TWO + "mask_transform = T.Compose([T.ToTensor()])",
         [f"{COLOURS}, T.ToTensor()"] * 2),
        ("np.zeros((64, 64, 1), np.float32)", SHARED,
         ["T.Compose([T.ToTensor(), T.Lambda(lambda x: x.repeat(3, 1, 1))])"]),
        ("torch.rand(1, 64, 64)", "train_transform = test_transform = lambda x: x",
         [".expand(-1, 3, -1, -1)"] * 2),
    ],
)  # fmt: skip
def test_images_in_grey_are_made_colours_wherever_they_go(
    image: str, transforms: str, edits: list[str], tmp_path: Path
) -> None:
    assert get_edits(tmp_path, image, transforms, RESNET) == edits


def test_a_model_of_timm_is_created_for_grey_images(tmp_path: Path) -> None:
    pytest.importorskip("timm")
    model = "__import__('timm').create_model('resnet10t', num_classes=3)"
    (edit,) = get_edits(tmp_path, PICTURE, TWO, model)
    assert edit == ", in_chans=1"


@pytest.mark.parametrize(
    ("image", "transforms", "model"),
    [
        (PICTURE.replace("64, 64", "64, 64, 3"), TWO, RESNET),
        (PICTURE, TWO, "nn.Sequential(nn.Conv2d(1, 3, 5), nn.AdaptiveAvgPool2d(1),"
         " nn.Flatten())"),
    ],
)  # fmt: skip
def test_images_of_the_right_channels_are_quiet(
    image: str, transforms: str, model: str, tmp_path: Path
) -> None:
    assert get_edits(tmp_path, image, transforms, model) == []


def test_a_layer_of_the_program_takes_what_the_images_have(tmp_path: Path) -> None:
    model = "nn.Sequential(nn.Conv2d(3, 3, 5), nn.AdaptiveAvgPool2d(1), nn.Flatten())"
    edits = get_edits(tmp_path, PICTURE, TWO, model)
    assert edits == ["1"]


def test_no_edit_of_the_images_of_training_alone_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    as_it_is = "train_transform = test_transform = lambda x: x"
    text = SCRIPT.format(
        image="torch.rand(1, 64, 64)", transforms=as_it_is, model=RESNET
    )
    (finding,) = [f for f in rehearsed(tmp_path, text).findings if f.fixes]
    assert [len(fix.edits) for fix in finding.fixes] == [2]


FOLDER = """\
import os
import tempfile
import torch
import torchvision.transforms as T
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

CHANNELS = {channels}
root = tempfile.mkdtemp()
os.makedirs(os.path.join(root, "a"))
for i in range(8):
    Image.new("L", (16, 16)).save(os.path.join(root, "a", f"{{i}}.png"))
data = ImageFolder(root, T.Compose([{before}T.ToTensor()]))
net = nn.Sequential(nn.Conv2d(CHANNELS, 4, 3, padding=1), nn.ReLU(),
                    nn.Conv2d(4, CHANNELS, 3, padding=1))
for x, _ in DataLoader(data, batch_size=4):
    nn.functional.mse_loss(net(x), x).backward()
"""


@pytest.mark.parametrize("before", ["", "T.Resize(16), "])
def test_images_of_a_folder_become_grey_for_a_model_of_one_channel(
    before: str, tmp_path: Path
) -> None:
    pytest.importorskip("torchvision")
    text = FOLDER.format(channels=1, before=before)
    (finding,) = rehearsed(tmp_path, text).findings
    messages = [fix.message for fix in finding.fixes]
    assert messages == ["`T.Grayscale()` in front of `T.ToTensor()`"]


@pytest.mark.parametrize(("channels", "before"), [(3, ""), (1, "T.Grayscale(), ")])
def test_images_of_as_many_channels_as_the_model_are_quiet(
    channels: int, before: str, tmp_path: Path
) -> None:
    pytest.importorskip("torchvision")
    text = FOLDER.format(channels=channels, before=before)
    assert not rehearsed(tmp_path, text).findings


STATISTICS = """\
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

MEAN, STD = [0.4, 0.5, 0.3], [0.2, 0.2, 0.2]
transform = T.Compose([T.ToTensor(), {normalize}])


class Digits(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return transform({image})


net = nn.Conv2d({channels}, 4, 3)
for x in DataLoader(Digits(), 4):
    net(x).mean().backward()
"""
ARRAY = "np.zeros((28, 28, 1), np.uint8)"
GREY = "Image.fromarray(np.zeros((28, 28), np.uint8))"
COLOUR = "np.zeros((28, 28, 3), np.uint8)"


def get_statistics(folder: Path, normalize: str, image: str, channels: int) -> list:
    pytest.importorskip("torchvision")
    text = STATISTICS.format(normalize=normalize, image=image, channels=channels)
    (folder / "work").mkdir()
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in rehearsed(folder / "work", text).findings
    ]


@pytest.mark.parametrize(
    ("normalize", "new"),
    [
        ("T.Normalize((0.4, 0.5, 0.6), (0.1, 0.2, 0.3))", "(0.5,), (0.2,)"),
        ("T.Normalize([0.4, 0.5, 0.3], std=[0.2, 0.2, 0.2])", "[0.4], [0.2]"),
        ("T.Normalize(mean=MEAN, std=STD)", "[0.4], [0.2]"),
    ],
)
def test_grey_images_are_normalized_by_one_mean(
    tmp_path: Path, normalize: str, new: str
) -> None:
    fixes = get_statistics(tmp_path, normalize, ARRAY, 1)
    assert fixes[0][0] == f"`T.Normalize({new})`"


def test_the_channels_of_a_grey_image_are_told(tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    normalize = "T.Normalize(MEAN, STD)"
    text = STATISTICS.format(normalize=normalize, image=ARRAY, channels=1)
    (finding,) = rehearsed(tmp_path, text).findings
    assert "a mean for each of 3 channels" in finding.message
    assert "the image (1, 28, 28) is grey" in finding.message


def test_pictures_in_grey_may_become_colours(tmp_path: Path) -> None:
    normalize = "T.Normalize((0.4, 0.5, 0.6), (0.1, 0.2, 0.3))"
    fixes = get_statistics(tmp_path, normalize, GREY, 3)
    assert "Grayscale(num_output_channels=3)" in fixes[0][0]


@pytest.mark.parametrize(
    ("normalize", "image", "channels"),
    [
        ("T.Normalize((0.5,), (0.2,))", ARRAY, 1),
        ("T.Normalize(MEAN, STD)", COLOUR, 3),
    ],
)
def test_statistics_of_all_channels_are_quiet(
    tmp_path: Path, normalize: str, image: str, channels: int
) -> None:
    assert get_statistics(tmp_path, normalize, image, channels) == []
