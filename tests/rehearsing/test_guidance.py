"""Classifier-free guidance with its two predictions exchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.label = nn.Embedding(5, 4)
        self.fc = nn.Linear(4, 4)

    def forward(self, x, y=None, context=None):
        if y is not None:
            x = x + self.label(y)
        return self.fc(x if context is None else x + context)


model = Net()
x, y = torch.randn(6, 4), torch.randint(0, 4, (6,))


"""
WRONG = {
    "names": (
        "def sample(x, y, guidance=2.0):\n"
        "    noise = torch.cat([model(x), model(x, y)])\n"
        "    noise_uncond, noise_text = noise.chunk(2)\n"
        "    return noise_text + guidance * (noise_uncond - noise_text)\n\n"
        "sample(x, y)",
        "noise_uncond + guidance * (noise_text - noise_uncond)",
    ),
    "calls": (
        "def sample(x, y, w):\n"
        "    a = model(x, y)\n"
        "    b = model(x, torch.full_like(y, 4))\n"
        "    return a + w * (b - a)\n\n"
        "sample(x, y, 3.0)",
        "b + w * (a - b)",
    ),
    "keywords": (
        "class Sampler:\n"
        "    def __init__(self, model):\n"
        "        self.model, self.cfg_scale = model, 3.0\n\n"
        "    def step(self, x, y):\n"
        "        out = self.model(x, y=y)\n"
        "        base = self.model(x, y=None)\n"
        "        return (base - out) * self.cfg_scale + out\n\n"
        "Sampler(model).step(x, y)",
        "(out - base) * self.cfg_scale + base",
    ),
    "lerp": (
        "scale = 2.0\n"
        "e_c, e_u = model(x, y), model(x)\n"
        "e = torch.lerp(e_c, e_u, scale)",
        "torch.lerp(e_u, e_c, scale)",
    ),
    "the other formula": (
        "w = 2.0\n"
        "cond, uncond = model(x, y), model(x)\n"
        "e = (1 + w) * uncond - w * cond",
        "(1 + w) * cond - w * uncond",
    ),
    "subscripts": (
        "scale = 2.0\n"
        "out = {'cond': model(x, y), 'uncond': model(x)}\n"
        "e = out['cond'] + scale * (out['uncond'] - out['cond'])",
        "out['uncond'] + scale * (out['cond'] - out['uncond'])",
    ),
}
RIGHT = {
    "from the unconditional one": "w = 2.0\ncond, uncond = model(x, y), model(x)\n"
    "e = uncond + w * (cond - uncond)",
    "the formula of the paper": "w = 2.0\ncond, uncond = model(x, y), model(x)\n"
    "e = (1 + w) * cond - w * uncond",
    "beyond the conditional one": "w = 2.0\ncond, uncond = model(x, y), model(x)\n"
    "e = cond + w * (cond - uncond)",
    "the rest of the scale": "w = 2.0\ncond, uncond = model(x, y), model(x)\n"
    "e = cond + (1 - w) * (uncond - cond)",
    "names that say nothing": "w = 2.0\na, b = model(x, y), model(x, 3 - y)\n"
    "e = a + w * (b - a)",
    "names that contradict": "def sample(x, y, w):\n"
    "    cond = model(x, None)\n    uncond = model(x, y)\n"
    "    return cond + w * (uncond - cond)\n\nsample(x, y, 2.0)",
    "a mixture": "alpha = 0.5\ncond, uncond = model(x, y), model(x)\n"
    "e = cond + alpha * (uncond - cond)",
    "another concept": "scale = 2.0\nclass_a, class_b = model(x, y), model(x, 3 - y)\n"
    "e = class_a + scale * (class_b - class_a)",
}


@pytest.mark.parametrize("name", WRONG)
def test_exchanged_predictions_are_found(name: str, tmp_path: Path) -> None:
    text, new = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text + "\n")
    (finding,) = [f for f in report.findings if f.code == "reversed-guidance"]
    assert [fix.message for fix in finding.fixes] == [f"`{new}`"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name] + "\n")
    codes = [finding.code for finding in report.findings]
    assert "reversed-guidance" not in codes
