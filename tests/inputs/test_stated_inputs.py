"""Inputs that the file itself states come before any search."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

MODEL = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
{before}

class Net(nn.Module):
    {inside}

    def __init__(self, channels={channels}):
        super().__init__()
        self.c1 = nn.Conv2d(channels, 10, 5)
        self.c2 = nn.Conv2d(10, 20, 5)
        self.fc = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))

{after}
"""
PLAIN = {"before": "", "inside": "", "channels": 3, "after": ""}
SURE = {
    "called": (
        {"after": "def main():\n    net = Net().cuda().eval()\n"
                  "    print(net(torch.randn(4, 3, 28, 28).cuda()))\n"},
        "f32[4, 3, 28, 28] (line 22 calls it so",
    ),
    "called on a name": (
        {"before": "SIDE = 64", "after": "if __name__ == '__main__':\n"
         "    images = torch.rand(8, 3, SIDE, SIDE // 2)\n    model = Net()\n"
         "    out = model(images)\n"},
        "f32[8, 3, 64, 32] (line 23 calls it so",
    ),
    "summary": (
        {"after": "def main():\n    from torchsummary import summary\n"
                  "    summary(Net(), (3, 100, 100))\n"},
        "f32[2, 3, 100, 100] (line 22 calls it so",
    ),
    "data set": (
        {"channels": 1, "after": "def load():\n    from torchvision import datasets\n"
         "    return datasets.MNIST('data')\n"},
        "f32[2, 1, 28, 28] (images of MNIST, line 22",
    ),
    "resized": (
        {"after": "def load():\n    from torchvision import datasets, transforms as T\n"
         "    return datasets.CIFAR10('data', transform=T.Resize((48, 40)))\n"},
        "f32[2, 3, 48, 40] (images of CIFAR10, line 22, resized at line 22",
    ),
    "cropped": (
        {"after": "def load(transforms):\n    return transforms.Compose([\n"
         "        transforms.Resize(256), transforms.CenterCrop(224)])\n"},
        "f32[2, 3, 224, 224] (images resized at line 22",
    ),
}  # fmt: skip
DOUBTFUL = {
    "a comment": ({"inside": "# x: (batch, 3, 64, 64)"}, "f32[2, 3, 64, 64]"),
    "a constant": ({"before": "IMG_SIZE = 64"}, "f32[2, 3, 64, 64]"),
    "built otherwise": (
        {"after": "def main():\n    net = Net(1)\n"
                  "    net(torch.randn(2, 1, 28, 28))\n"},
        "f32[2, 1, 28, 28]",
    ),
    "the data set of other channels": (
        {"after": "def load(datasets):\n    return datasets.MNIST('data')\n"},
        "f32[2, 1, 28, 28]",
    ),
}  # fmt: skip


def _check(folder: Path, change: dict[str, object]) -> tuple[list[str], str]:
    """Codes of the findings, and what was assumed of the inputs."""
    file = folder / "net.py"
    file.write_text(MODEL.format(**{**PLAIN, **change}))
    report = api.check_target(f"{file}:Net")
    (inputs,) = [
        each.message
        for each in report.assumptions
        if each.message.startswith("inputs: ")
    ]
    return [each.code for each in report.findings], inputs


@pytest.mark.parametrize("name", SURE)
def test_an_error_shows_at_the_size_that_the_file_states(
    name: str, tmp_path: Path
) -> None:
    change, words = SURE[name]
    codes, inputs = _check(tmp_path, change)
    assert codes == ["inner-dim-mismatch"]
    assert inputs.startswith(f"inputs: {words}")
    assert inputs.endswith(", 32, 32] would run)")


@pytest.mark.parametrize("name", DOUBTFUL)
def test_in_doubt_what_runs_is_taken_and_the_rest_told(
    name: str, tmp_path: Path
) -> None:
    change, spec = DOUBTFUL[name]
    codes, inputs = _check(tmp_path, change)
    assert codes == []
    assert inputs.startswith("inputs: f32[2, 3, 32, 32] (found by search")
    assert f"; {spec} (" in inputs
    assert ") fails: " in inputs


def test_what_the_file_states_and_runs_is_taken(tmp_path: Path) -> None:
    codes, inputs = _check(tmp_path, {"inside": '"""A classifier for CIFAR-10."""'})
    assert codes == []
    assert inputs == "inputs: f32[2, 3, 32, 32] (CIFAR10 is named at line 7)"
