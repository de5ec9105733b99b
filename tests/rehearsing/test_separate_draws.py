"""Images and masks that are turned apart, together, or need not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def hflip(x):
    return x.flip(-1)


def random_crop(x):
    top = random.randint(0, x.size(-2) - 6)
    return x[..., top : top + 6, :]


def crop_at(x, top):
    return x[..., top : top + 6, :]


def add_noise(x):
    return x + 0.1 * torch.randn_like(x) if random.random() < 0.5 else x


class Turn:
    def __call__(self, x):
        return torch.rot90(x, random.randint(0, 3), (1, 2))


class Data(Dataset):
    def __init__(self):
        self.transform = Turn()
        self.images, self.masks = torch.randn(16, 1, 8, 8), torch.ones(16, 1, 8, 8)

    def __len__(self):
        return 16

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
{lines}


net = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for image, mask in DataLoader(Data(), 4):
    optimizer.zero_grad()
    {loss}
    loss.backward()
    optimizer.step()
"""
PIXELS = "loss = nn.functional.binary_cross_entropy_with_logits(net(image), mask)"
VIEWS = (
    "loss = (net(image).mean((1, 2, 3)) - net(mask).mean((1, 2, 3))).square().mean()"
)
CYCLE = "loss = nn.functional.l1_loss(net(net(image)), image) + net(mask).mean()"
BACK = "return image, mask"
WRONG = {
    "random": "if random.random() < 0.5:\n    image = torch.flip(image, [-1])\n"
    "if random.random() < 0.5:\n    mask = torch.flip(mask, [-1])\n" + BACK,
    "torch": "if torch.rand(1).item() > 0.5:\n    image = hflip(image)\n"
    "if torch.rand(1).item() > 0.5:\n    mask = hflip(mask)\n" + BACK,
    "in one line": "image = hflip(image) if random.random() < 0.5 else image\n"
    "mask = hflip(mask) if random.random() < 0.5 else mask\n" + BACK,
    "a helper": "image = random_crop(image)\nmask = random_crop(mask)\n" + BACK,
    "a class": "return self.transform(image), self.transform(mask)",
    "turned": "if random.randint(0, 1):\n    image = torch.rot90(image, 1, (1, 2))\n"
    "if random.randint(0, 1):\n    mask = torch.rot90(mask, 1, (1, 2))\n" + BACK,
}
RIGHT = {
    "together": "if random.random() < 0.5:\n    image = hflip(image)\n"
    "    mask = hflip(mask)\n" + BACK,
    "one draw": "flip = random.random() < 0.5\nif flip:\n    image = hflip(image)\n"
    "if flip:\n    mask = hflip(mask)\n" + BACK,
    "one seed": "random.seed(i)\nif random.random() < 0.5:\n    image = hflip(image)\n"
    "random.seed(i)\nif random.random() < 0.5:\n    mask = hflip(mask)\n" + BACK,
    "noise": "if random.random() < 0.5:\n    image = image + torch.randn(1, 8, 8)\n"
    "if random.random() < 0.5:\n    image, mask = hflip(image), hflip(mask)\n" + BACK,
    "one drawn place": "top = random.randint(0, 2)\n"
    "image, mask = crop_at(image, top), crop_at(mask, top)\n" + BACK,
    "noise of a helper": "image, mask = add_noise(image), add_noise(mask)\n" + BACK,
    "both in one": "both = self.transform(torch.cat([image, mask]))\n"
    "return both[:1], both[1:]",
    "two flips of both": "if random.random() < 0.5:\n"
    "    image, mask = hflip(image), hflip(mask)\nif random.random() < 0.5:\n"
    "    image, mask = image.flip(-2), mask.flip(-2)\n" + BACK,
}


def _codes(folder: Path, lines: str, loss: str, script: str = SCRIPT) -> list[str]:
    pad = "\n".join(" " * 8 + line for line in lines.split("\n"))
    report = rehearsed(folder, script.format(lines=pad, loss=loss))
    assert report.complete
    return [each.code for each in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_an_image_and_its_mask_drawn_apart_are_found(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, WRONG[name], PIXELS) == ["separate-draws"]


@pytest.mark.parametrize("name", RIGHT)
def test_an_image_and_its_mask_drawn_together(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, RIGHT[name], PIXELS) == []


@pytest.mark.parametrize("loss", [VIEWS, CYCLE])
def test_two_images_may_be_drawn_apart(loss: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, WRONG["random"], loss) == []


FLIPS = """\
import random


class RandomHorizontalFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, x):
        return x.flip(-1) if random.random() < self.p else x
"""


@pytest.mark.parametrize("chance", ["0.5", "1.0"])
def test_a_flip_that_always_flips_is_no_draw(chance: str, tmp_path: Path) -> None:
    (tmp_path / "flips.py").write_text(FLIPS, encoding="utf-8")
    script = SCRIPT.replace("Turn()", f"RandomHorizontalFlip(p={chance})")
    script = "from flips import RandomHorizontalFlip\n" + script
    script = script.replace("torch.rot90(x, random.randint(0, 3), (1, 2))", "x")
    lines = "if random.random() < 0.5:\n    image = self.transform(image)\n"
    lines += "    mask = self.transform(mask)\n" + BACK
    codes = _codes(tmp_path, lines, PIXELS, script)
    assert codes == (["separate-draws"] if chance == "0.5" else [])


@pytest.mark.parametrize("name", ["random", "torch", "in one line", "turned"])
def test_one_draw_decides_for_both(name: str, tmp_path: Path) -> None:
    pad = "\n".join(" " * 8 + line for line in WRONG[name].split("\n"))
    report = rehearsed(tmp_path, SCRIPT.format(lines=pad, loss=PIXELS))
    (fix,) = report.findings[0].fixes
    assert fix.message.startswith("`turned = ")
    assert fix.message.endswith("for both")
    assert fix.checked


OWN_DRAWS = {
    "a class": [],
    "a helper": ["`random.setstate(state)` before the second"],
}


@pytest.mark.parametrize("name", OWN_DRAWS)
def test_draws_of_the_program_get_no_seed_of_torch(name: str, tmp_path: Path) -> None:
    pad = "\n".join(" " * 8 + line for line in WRONG[name].split("\n"))
    report = rehearsed(tmp_path, SCRIPT.format(lines=pad, loss=PIXELS))
    assert [fix.message for fix in report.findings[0].fixes] == OWN_DRAWS[name]


SEVERAL = """\
class Turn:
    def __call__(self, *tensors):
        count = random.randint(0, 3)
        turned = tuple(torch.rot90(x, count, (1, 2)) for x in tensors)
        return turned if len(turned) > 1 else turned[0]
"""


@pytest.mark.parametrize("is_together", [False, True])
def test_a_transform_of_several_tensors(is_together: bool, tmp_path: Path) -> None:
    start, _, end = SCRIPT.partition("class Turn:")
    script = f"{start}{SEVERAL}\n\nclass Data{end.partition('class Data')[2]}"
    apart = "image = self.transform(image)\nmask = self.transform(mask)\n"
    both = "image, mask = self.transform(image, mask)"
    lines = f"{both}\n{BACK}" if is_together else apart + BACK
    pad = "\n".join(" " * 8 + line for line in lines.split("\n"))
    findings = rehearsed(tmp_path, script.format(lines=pad, loss=PIXELS)).findings
    messages = [finding.fixes[0].message for finding in findings]
    assert messages == ([] if is_together else [f"`{both}`"])


def test_two_draws_of_one_state(tmp_path: Path) -> None:
    lines = (
        "state = random.getstate()\nimage = self.transform(image)\n"
        "random.setstate(state)\nmask = self.transform(mask)\n"
    )
    assert _codes(tmp_path, lines + BACK, PIXELS) == []


def test_two_flips_of_torchvision_begin_with_one_seed(tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    start, _, end = SCRIPT.partition("class Turn:")
    end = end.partition("class Data")[2].replace("Turn()", "RandomHorizontalFlip()")
    script = "from torchvision.transforms import RandomHorizontalFlip\n" + start
    lines = (
        "        image = self.transform(image)\n        mask = self.transform(mask)\n"
    )
    text = f"{script}class Data{end}".format(
        lines=f"{lines}        {BACK}", loss=PIXELS
    )
    (finding,) = rehearsed(tmp_path, text).findings
    assert (
        finding.fixes[0].message == "`torch.manual_seed(seed)` before each of the two"
    )
    assert finding.fixes[0].checked
