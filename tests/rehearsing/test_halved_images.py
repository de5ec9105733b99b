"""Images whose side is no multiple of what a network divides it by."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
import torch.nn.functional as F

SIZES


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.ModuleList(DOWN for _ in range(3))
        self.up = nn.ModuleList(nn.Conv2d(16, 8, 3, padding=1) for _ in range(3))
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x = self.first(x)
        maps = []
        for down in self.down:
            maps.append(x)
            x = torch.relu(down(x))
        for up, kept in zip(self.up, reversed(maps)):
            parts = [F.interpolate(x, scale_factor=2)]
            parts += [kept]
            x = torch.relu(up(torch.cat(parts, 1)))
        return self.out(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    photos = torch.rand(2, 3, 120, 160)
    x = RESIZED
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
STRIDED = "nn.Conv2d(8, 8, 3, stride=2, padding=1)"
POOLED = "nn.MaxPool2d(2)"
BY_NAMES = "F.interpolate(photos, size=(HEIGHT, WIDTH))"
WRONG = [
    (
        "HEIGHT, WIDTH = 100, 128",
        STRIDED,
        BY_NAMES,
        "`HEIGHT, WIDTH = 96, 128`",
        "100 is no multiple of 8: on the way, a map of 25 is halved to 13, and doubled"
        " to 26",
    ),
    (
        "HEIGHT, WIDTH = 102, 128",
        POOLED,
        BY_NAMES,
        "`HEIGHT, WIDTH = 104, 128`",
        "102 is no multiple of 8: on the way, a map of 25 is halved to 12, and doubled"
        " to 24",
    ),
    (
        "HEIGHT = 90\nWIDTH = 75",
        STRIDED,
        BY_NAMES,
        "`HEIGHT = 88` and `WIDTH = 72`",
        "90 is no multiple of 8: on the way, a map of 23 is halved to 12, and doubled"
        " to 24",
    ),
    (
        "",
        STRIDED,
        "F.interpolate(photos, (90, 64))",
        "`F.interpolate(photos, (88, 64))`",
        "90 is no multiple of 8: on the way, a map of 23 is halved to 12, and doubled"
        " to 24",
    ),
]


def write_program(sizes: str, down: str, resized: str) -> str:
    """A network that halves its images three times, and images of a size."""
    text = PROGRAM.replace("SIZES", sizes).replace("DOWN", down)
    return text.replace("RESIZED", resized)


@pytest.mark.parametrize(("sizes", "down", "resized", "edit", "words"), WRONG)
def test_the_nearest_multiple(
    tmp_path: Path, sizes: str, down: str, resized: str, edit: str, words: str
) -> None:
    report = rehearsed(tmp_path, write_program(sizes, down, resized))
    finding = next(f for f in report.findings if f.severity == "error")
    assert finding.fixes[0].message == edit
    assert finding.fixes[0].checked
    assert words in [place.message for place in finding.related]


def test_given_images_are_explained(tmp_path: Path) -> None:
    text = write_program("", STRIDED, "photos[..., :90, :64]")
    finding = rehearsed(tmp_path, text).findings[0]
    assert any("no multiple of 8" in place.message for place in finding.related)


@pytest.mark.parametrize("down", [STRIDED, POOLED])
def test_multiples_are_quiet(tmp_path: Path, down: str) -> None:
    text = write_program("HEIGHT, WIDTH = 96, 128", down, BY_NAMES)
    assert rehearsed(tmp_path, text).findings == ()
