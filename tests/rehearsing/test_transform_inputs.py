"""Transforms that get what they do not take, with torchvision's messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.refused_calls.transform_inputs import find_transform_input
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span, apply_edits
from tests.rehearsing.rehearsed import rehearsed

TRANSFORMS = '''\
"""As torchvision has them."""
import torch

class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for t in self.transforms:
            img = t(img)
        return img

class Picture:
    def __init__(self, size):
        self.size = size

class ToTensor:
    def __call__(self, pic):
        if isinstance(pic, torch.Tensor):
            raise TypeError(
                f"pic should be PIL Image or ndarray. Got {type(pic)}"
            )
        return torch.rand(1, *pic.size)

class ConvertImageDtype:
    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, pic):
        return pic.to(self.dtype) / 255

class Flip:
    def __call__(self, pic):
        return pic

class Resize:
    def __init__(self, size):
        self.size = size if isinstance(size, tuple) else (size, size)

    def __call__(self, pic):
        return Picture(self.size)

class RandomCrop:
    def __init__(self, size, padding=0, pad_if_needed=False):
        self.size = size if isinstance(size, tuple) else (size, size)
        self.padded = pad_if_needed

    def __call__(self, pic):
        if pic.size < self.size and not self.padded:
            raise ValueError(
                f"Required crop size {self.size} is larger than input image size"
                f" {pic.size}"
            )
        return Picture(self.size)
'''
PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
import pictures as transforms

SIZE = 8

class Items(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 6

    def __getitem__(self, i):
        {item}

flow = transforms.Compose([{flow}])
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))
for x in DataLoader(Items(flow), batch_size=3):
    net(x).mean().backward()
"""
TENSOR = "return self.transform(torch.rand(1, 8, 8))"
BYTES = "return self.transform(torch.zeros(1, 8, 8, dtype=torch.uint8))"
PICTURE = "return self.transform(transforms.Picture((4, 4)))"
PAIR = "image = mask = transforms.Picture((8, 8))\n        "
MISTAKES = {
    "a tensor": (TENSOR, "transforms.ToTensor()", "no `ToTensor`"),
    "a tensor, then": (
        TENSOR,
        "transforms.Flip(), transforms.ToTensor()",
        "no `ToTensor`",
    ),
    "a tensor, first": (
        TENSOR,
        "transforms.ToTensor(), transforms.Flip()",
        "no `ToTensor`",
    ),
    "bytes": (
        BYTES,
        "transforms.Flip(), transforms.ToTensor()",
        "`transforms.ConvertImageDtype(torch.float32)`",
    ),
    "twice": (
        PICTURE,
        "transforms.Resize(8), transforms.ToTensor(), transforms.ToTensor()",
        "no `ToTensor`",
    ),
    "a crop of a resized picture": (
        PICTURE,
        "transforms.Resize(SIZE // 2), transforms.RandomCrop(SIZE),"
        " transforms.ToTensor()",
        "`transforms.Resize(SIZE)`",
    ),
    "a crop of a size of two numbers": (
        PICTURE,
        "transforms.Resize((4, 4)), transforms.RandomCrop(8), transforms.ToTensor()",
        "`transforms.Resize((8, 8))`",
    ),
    "a crop of a small picture": (
        PICTURE,
        "transforms.RandomCrop(8), transforms.ToTensor()",
        "`transforms.RandomCrop(8, pad_if_needed=True)`",
    ),
    "a picture and its mask": (
        f"{PAIR}image, mask = self.transform(image, mask)\n        return image * mask",
        "transforms.ToTensor()",
        "`self.transform(image), self.transform(mask)`",
    ),
    "a pair": (
        f"{PAIR}pair = self.transform(image, mask)\n        return pair[0] * pair[1]",
        "transforms.Resize(8), transforms.ToTensor()",
        "`self.transform(image), self.transform(mask)`",
    ),
}
RIGHT = {
    "a picture": (PICTURE, "transforms.Resize(8), transforms.ToTensor()"),
    "a crop": (
        PICTURE,
        "transforms.Resize(9), transforms.RandomCrop(8), transforms.ToTensor()",
    ),
    "a tensor": (TENSOR, "transforms.Flip()"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_a_transform_takes_is_shown(name: str, tmp_path: Path) -> None:
    item, flow, fix = MISTAKES[name]
    (tmp_path / "pictures.py").write_text(TRANSFORMS)
    report = rehearsed(tmp_path, PROGRAM.format(item=item, flow=flow))
    finding = next(f for f in report.findings if f.severity == "error")
    assert finding.fixes[0].message == fix, finding.message
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_transform_takes_is_left(name: str, tmp_path: Path) -> None:
    item, flow = RIGHT[name]
    (tmp_path / "pictures.py").write_text(TRANSFORMS)
    report = rehearsed(tmp_path, PROGRAM.format(item=item, flow=flow))
    assert not [f for f in report.findings if f.severity == "error"]


class OneFile:
    """A program of one file, as far as it is asked for its text."""

    def __init__(self, text: str) -> None:
        self.source = SourceText("program.py", text)

    def call_at(self, span: Span) -> tuple[SourceText, object]:
        return self.source, self.source.node(span)


ARRAYS = {
    "from PIL import Image\n": "z = tf(Image.fromarray(img[0]))\n",
    "import PIL.Image\n": "z = tf(PIL.Image.fromarray(img[0]))\n",
    "from PIL import Image as I\n": "z = tf(I.fromarray(img[0]))\n",
    "": "from PIL import Image\nz = tf(Image.fromarray(img[0]))\n",
}


@pytest.mark.parametrize("head", ARRAYS)
@pytest.mark.parametrize(
    "said",
    [
        "Unexpected type {}",
        "img should be PIL Image. Got {}",
        "img should be PIL Image or Tensor. Got {}",
    ],
)
def test_an_array_is_made_a_picture(head: str, said: str) -> None:
    words = said.format("<class 'numpy.ndarray'>")
    text = f"{head}z = tf(img[0])\n"
    line = text.count("\n")
    span = Span("program.py", line, 5, line, 15)
    finding = Finding("program-error", "error", words, span, torch_message=words)
    cause = find_transform_input(OneFile(text), finding)  # type: ignore[arg-type]
    assert cause is not None
    assert "`img[0]` is an array" in cause.message
    (fix,) = cause.fixes
    edits = [(edit.span, edit.text) for edit in fix.edits]
    assert apply_edits(text, edits) == head + ARRAYS[head]
