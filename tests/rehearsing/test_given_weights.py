"""Weights that are set on purpose and drawn anew by a loop over all layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

class Blur(nn.Module):
    def __init__(self, c):
        super().__init__()
        a = torch.tensor([1.0, 2.0, 1.0])
        filt = (a[:, None] * a / 16)[None, None].repeat(c, 1, 1, 1)
        self.blur = nn.Conv2d(c, c, 3, groups=c, bias=False)
        SETTING
    def forward(self, x):
        return self.blur(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3)
        self.blur = Blur(4)
        self.last = nn.Linear(4, 2)
        INIT
    def weigh(self, m):
        if isinstance(m, nn.Conv2d):
            m.weight.data.normal_(0, 0.02)
    def forward(self, x):
        return self.last(self.blur(self.first(x)).mean((2, 3)))

net = Net()
trained = [p for p in net.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(trained, lr=0.1)
for step in range(3):
    x, y = torch.randn(8, 3, 9, 9), torch.randint(2, (8,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
"""
LOOP = """for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)"""
KEPT = LOOP.replace("nn.Conv2d):", "nn.Conv2d) and m.weight.requires_grad:")
FROZEN = "self.blur.weight = nn.Parameter(filt, requires_grad=False)"
COPIED = "self.blur.weight.data.copy_(filt)"
WRITTEN = "self.blur.weight.requires_grad_(False)\n        self.blur.weight[:] = filt"
DATA = "self.blur.weight.data = filt.clone()"


@pytest.mark.parametrize("init", [LOOP, "self.apply(self.weigh)"])
@pytest.mark.parametrize("setting", [FROZEN, COPIED, WRITTEN, DATA])
def test_lost_filters(tmp_path: Path, setting: str, init: str) -> None:
    text = SCRIPT.replace("SETTING", setting).replace("INIT", init)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "loaded-weights-lost"]
    assert "`self.blur.weight` is drawn anew here" in finding.message
    is_frozen = setting in (FROZEN, WRITTEN)
    assert any("requires_grad" in fix.message for fix in finding.fixes) == is_frozen


RIGHT = {
    "frozen weights are left": (FROZEN, KEPT),
    "set after the draws": ("pass", f"{LOOP}\n        self.blur.weight.data.copy_(X)"),
    "a start of zeros": (
        "self.blur.weight = nn.Parameter(torch.zeros(c, 1, 3, 3))",
        LOOP,
    ),
    "drawn twice": (
        "self.blur.weight = nn.Parameter(torch.randn(c, 1, 3, 3) * 0.01)",
        LOOP,
    ),
    "memory": ("self.blur.weight = nn.Parameter(torch.empty(c, 1, 3, 3))", LOOP),
    "orthogonal first": ("nn.init.orthogonal_(self.blur.weight)", LOOP),
    "a buffer": ("self.register_buffer('filt', filt)", LOOP),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_starts(tmp_path: Path, name: str) -> None:
    setting, init = RIGHT[name]
    text = SCRIPT.replace("SETTING", setting).replace("INIT", init)
    text = text.replace("(X)", "(torch.ones(4, 1, 3, 3) / 9)")
    codes = [f.code for f in rehearsed(tmp_path, text).findings]
    assert "loaded-weights-lost" not in codes
