"""What is upsampled by a factor and misses the size that it meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

WIDTH = 99


def enlarge(x, out):
    h, w = x.shape[2:]
    return nn.Upsample(scale_factor=(out[0] / h, out[1] / w))(x)


def enlarge_to(x, height, width):
    return F.interpolate(x, scale_factor=(height / x.shape[2], width / x.shape[3]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2)
        self.up = nn.Upsample(scale_factor=2)
        self.skip = nn.Conv2d(3, 8, 3, padding=1)
        self.out = nn.Conv2d({channels}, 1, 1)

    def forward(self, x):
        skip = self.skip(x)
        y = self.down(x)
        {body}
        return self.out(y)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(2, 3, 64, WIDTH)
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ADDED = "y = torch.relu(y) + skip"
CASES = {
    "a function": (
        f"y = F.interpolate(y, scale_factor=2); {ADDED}", "`size=skip.shape[2:]`",
    ),
    "joined": (
        "y = torch.cat([F.interpolate(y, scale_factor=2), skip], dim=1)",
        "`size=skip.shape[2:]`",
    ),
    "a layer": (
        f"y = self.up(y); {ADDED}", "`F.interpolate(self.up(y), size=skip.shape[2:])`",
    ),
    "a rounded quotient": (
        f"y = enlarge(y, x.shape[2:]); {ADDED}", "`size=tuple(out)`",
    ),
    "two numbers": (
        f"y = enlarge_to(y, x.shape[2], x.shape[3]); {ADDED}",
        "`size=(height, width)`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_size_is_tried_and_no_other_data(name: str, tmp_path: Path) -> None:
    body, edit = CASES[name]
    channels = 16 if "cat" in body else 8
    report = rehearsed(tmp_path, SCRIPT.format(body=body, channels=channels))
    (finding,) = report.findings
    assert finding.severity == "error"
    messages = [each.message for each in finding.fixes]
    assert messages[0] == edit
    assert finding.fixes[0].checked
    assert not any("randn" in each or "WIDTH" in each for each in messages)


MASKS = """\
import torch
from torch import nn
{imports}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.head = nn.Conv2d(8, {classes}, 1)

    def forward(self, x):
        {body}


net = Net()
criterion = nn.{loss}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    images = torch.randn(2, 3, {side}, {side})
    masks = torch.{masks}
    scores = net(images)
    loss = criterion({scores}, masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
IMPORT = "import torch.nn.functional as F"
OF_CLASSES = {"classes": 4, "loss": "CrossEntropyLoss()", "side": 64,
              "masks": "randint(0, 4, (2, 64, 64))", "scores": "scores",
              "imports": IMPORT}  # fmt: skip
OF_SHARES = OF_CLASSES | {"classes": 1, "loss": "BCEWithLogitsLoss()",
                          "masks": "rand(2, 1, 64, 64).round()"}  # fmt: skip
PLAIN = "return self.head(self.down(x))"
WAY = 'mode="bilinear", align_corners=False)'
COARSE = {
    "what is returned": (
        OF_CLASSES | {"body": PLAIN},
        f"`return F.interpolate(self.head(self.down(x)), size=x.shape[-2:], {WAY}`",
    ),
    "a size by name": (
        OF_CLASSES | {"body": "hw = x.shape[2:]\n        x = self.down(x)\n"
                      "        return self.head(x)"},
        f"`return F.interpolate(self.head(x), size=hw, {WAY}`",
    ),
    "an input whose name is given away": (
        OF_CLASSES | {"body": "x = self.down(x)\n        return self.head(x)"},
        f"`return F.interpolate(self.head(x), size=size, {WAY}`",
    ),
    "without an import": (
        OF_CLASSES | {"body": PLAIN, "imports": ""},
        "`return nn.functional.interpolate(self.head(self.down(x)),"
        f" size=x.shape[-2:], {WAY}`",
    ),
    "shares": (
        OF_SHARES | {"body": PLAIN},
        f"`return F.interpolate(self.head(self.down(x)), size=x.shape[-2:], {WAY}`",
    ),
    "maps without channels": (
        OF_SHARES | {"masks": "rand(2, 64, 64).round()",
                     "body": "return self.head(self.down(x)).squeeze(1)"},
        f"`return F.interpolate(self.head(self.down(x)), size=x.shape[-2:], {WAY}"
        ".squeeze(1)`",
    ),
    "squeezed behind the model": (
        OF_SHARES | {"masks": "rand(2, 64, 64).round()", "body": PLAIN,
                     "scores": "scores.squeeze(1)"},
        f"`return F.interpolate(self.head(self.down(x)), size=x.shape[-2:], {WAY}`",
    ),
    "distances": (
        OF_SHARES | {"loss": "MSELoss()", "body": PLAIN},
        f"`return F.interpolate(self.head(self.down(x)), size=x.shape[-2:], {WAY}`",
    ),
    "a sum": (
        OF_CLASSES | {"body": "y = self.down(x)\n        return self.head(y) + 1"},
        f"`return F.interpolate(self.head(y) + 1, size=x.shape[-2:], {WAY}`",
    ),
    "two ways to return": (
        OF_CLASSES | {"body": "if x.ndim != 4:\n            return x\n"
                      "        return self.head(self.down(x))"},
        f"`F.interpolate(scores, size=masks.shape[-2:], {WAY}`",
    ),
    "odd sides": (
        OF_CLASSES | {"body": PLAIN, "side": 61, "masks": "randint(0, 4, (2, 61, 61))"},
        f"`return F.interpolate(self.head(self.down(x)), size=x.shape[-2:], {WAY}`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COARSE)
def test_logits_are_brought_to_the_size_of_the_images(
    name: str, tmp_path: Path
) -> None:
    settings, edit = COARSE[name]
    finding = rehearsed(tmp_path, MASKS.format(**settings)).findings[0]
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [edit]


def test_masks_that_are_larger_than_the_images_are_no_matter_of_logits(
    tmp_path: Path,
) -> None:
    settings = OF_CLASSES | {"body": PLAIN, "side": 32}
    finding = rehearsed(tmp_path, MASKS.format(**settings)).findings[0]
    assert not any("interpolate" in fix.message for fix in finding.fixes)


def test_logits_of_the_size_of_the_masks_are_right(tmp_path: Path) -> None:
    body = "return F.interpolate(self.head(self.down(x)), size=x.shape[-2:])"
    report = rehearsed(tmp_path, MASKS.format(**OF_CLASSES | {"body": body}))
    assert not [f for f in report.findings if f.severity == "error"]


MAPS = """\
import torch
from torch import nn
import torch.nn.functional as F

enlarge = nn.Upsample(scale_factor=2, mode="bilinear")
maps, photo, sound = torch.rand(6, 8, 8), torch.rand(3, 8, 8), torch.rand(6, 8)
volumes, stack = torch.rand(2, 8, 8, 8), torch.rand(2, 3, 8, 8)
conv = nn.Conv2d(3, 4, 3, padding=1)
{line}
"""
WITHOUT_CHANNELS = {
    "maps of samples": (
        "big = F.interpolate(maps, scale_factor=2, mode='bilinear')\n"
        "low = big.amin(dim=(1, 2))\nprint(big.reshape(6, 1, 16, 16).shape)",
        "`F.interpolate(maps.unsqueeze(1), ...).squeeze(1)`",
    ),
    "an image": (
        "big = F.interpolate(photo, size=(16, 16), mode='bicubic')\n"
        "z = conv(big[None])",
        "`F.interpolate(photo.unsqueeze(0), ...).squeeze(0)`",
    ),
    "a layer": (
        "big = enlarge(maps + 1)\nz = big.flatten(1)",
        "`enlarge((maps + 1).unsqueeze(1), ...).squeeze(1)`",
    ),
    "volumes": (
        "big = F.interpolate(volumes, scale_factor=2, mode='trilinear')\n"
        "z = big.reshape(2, -1)",
        "`F.interpolate(volumes.unsqueeze(1), ...).squeeze(1)`",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_CHANNELS)
def test_maps_without_channels_have_them_for_the_call(
    name: str, tmp_path: Path
) -> None:
    line, edit = WITHOUT_CHANNELS[name]
    finding = rehearsed(tmp_path, MAPS.format(line=line)).findings[0]
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [edit]


def test_maps_with_channels_are_left(tmp_path: Path) -> None:
    line = "z, y = enlarge(maps[:, None])[:, 0], F.interpolate(maps, 16)"
    assert rehearsed(tmp_path, MAPS.format(line=line)).findings == ()


PADS = {
    "a pair": (
        "z = conv(F.pad(stack, (1, 1), mode='reflect')) + torch.rand(2, 4, 10, 10)",
        "`(1, 1, 1, 1)` as pads",
    ),
    "a pair by name": (
        "pads = [2, 2]\nz = F.pad(stack, pad=pads, mode='replicate').sum((2, 3))",
        "`(2, 2, 2, 2)` as pads",
    ),
    "a pair of the width": (
        "z = F.pad(stack, (1, 1), mode='circular') + torch.rand(2, 3, 8, 10)",
        "`(1, 1, 0, 0)` as pads",
    ),
    "the past": (
        "z = F.pad(stack, (2, 0), mode='replicate').sum()", "`(2, 0, 0, 0)` as pads",
    ),
    "volumes": (
        "z = F.pad(volumes[:, None], (1, 1, 1, 1), mode='replicate').sum()",
        "`(1, 1, 1, 1, 1, 1)` as pads",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PADS)
def test_each_dim_has_its_pads(name: str, tmp_path: Path) -> None:
    line, edit = PADS[name]
    finding = rehearsed(tmp_path, MAPS.format(line=line)).findings[0]
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [edit]


def test_pads_of_zeros_need_no_pair_for_each_dim(tmp_path: Path) -> None:
    line = (
        "z = F.pad(stack, (1, 1)) + F.pad(maps, (1, 1), mode='reflect')[:2, None, :1]"
    )
    assert rehearsed(tmp_path, MAPS.format(line=line)).findings == ()
