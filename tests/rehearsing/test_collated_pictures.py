"""Items that are pictures of PIL still: which part, and what would make it a tensor."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import numpy as np
    import torch
    from PIL import Image
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from torchvision import transforms
    class Photos(Dataset):
        def __init__(self, n, augment=None, as_tensor=False):
            self.n, self.augment = n, augment
            self.as_tensor = as_tensor
        def __len__(self):
            return self.n
        def load(self, i, to_tensor=False, size=(40, 50, 3)):
            image = Image.fromarray(np.zeros(size, np.uint8))
            if to_tensor:
                image = transforms.functional.to_tensor(image)
            return image
        def __getitem__(self, i):
            {item}
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for x, y, *_ in DataLoader({data}, batch_size=4):
        nn.functional.cross_entropy(net(x), y).backward()
    """
OF_CLASS = (
    "image = Image.fromarray(np.zeros((40, 50, 3), np.uint8))\n"
    "            if self.as_tensor:\n"
    "                image = transforms.ToTensor()(image)\n"
    "            return image, i % 3"
)


@pytest.mark.parametrize(
    ("item", "data", "words", "first"),
    [
        ("return self.load(i), i % 3", "Photos(8)",
         "`load` makes a tensor of it only with `to_tensor=True`",
         "`self.load(i, to_tensor=True)`"),
        ("return self.load(i, to_tensor=False), i % 3", "Photos(8)",
         "`load` makes a tensor of it only with `to_tensor=True`",
         "`to_tensor=True`"),
        (OF_CLASS, "Photos(8)",
         "`Photos` makes a tensor of it only with `as_tensor=True`",
         "`Photos(8, as_tensor=True)`"),
        ("image = Image.fromarray(np.zeros((40, 50, 3), np.uint8))\n"
         "            return image.convert('RGB'), i % 3", "Photos(8)",
         "`image.convert('RGB')` in the items of `Photos` is a picture",
         "`transforms.ToTensor()(image.convert('RGB'))`"),
        ("image = Image.new('RGB', (50, 40))\n"
         "            x = transforms.ToTensor()(image)\n"
         "            return x, i % 3, image", "Photos(8)",
         "`image` in the items of `Photos` is a picture",
         "`transforms.ToTensor()(image)`"),
    ],
    ids=["switch of a method", "switch given", "switch of the class", "none", "third"],
)  # fmt: skip
def test_the_picture_of_an_item_is_told(
    item: str, data: str, words: str, first: str, tmp_path: Path
) -> None:
    pytest.importorskip("torchvision")
    report = rehearsed(tmp_path, PROGRAM.format(item=item, data=data))
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert words in finding.message
    assert "default_collate" in finding.torch_message
    assert next(fix.message for fix in finding.fixes if fix.checked) == first


def test_a_part_that_is_unknown_is_not_called_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    item = "x = transforms.ToTensor()(self.load(i)); return x, i % 3, PICTURES[i]"
    text = PROGRAM.format(item=item, data="Photos(8)")
    known = "PICTURES = [Image.new('RGB', (9, 9))] * 8\n    class Photos"
    report = rehearsed(tmp_path, text.replace("class Photos", known))
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert "in the items of" not in finding.message


@pytest.mark.parametrize(
    ("item", "data"),
    [
        ("return self.load(i, to_tensor=True), i % 3", "Photos(8)"),
        (OF_CLASS, "Photos(8, as_tensor=True)"),
        ("return self.augment(self.load(i)), i % 3",
         "Photos(8, transforms.ToTensor())"),
    ],
)  # fmt: skip
def test_tensors_are_collated(item: str, data: str, tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    report = rehearsed(tmp_path, PROGRAM.format(item=item, data=data))
    assert [f for f in report.findings if f.severity == "error"] == []
