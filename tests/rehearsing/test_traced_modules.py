"""Models that are traced on an example: what they call is looked at as in a run of
their own, also where the example is one sample and a softmax runs along it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn


class Served(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU())
        self.fc, self.other = nn.Linear(8, 5), nn.Linear(8, 5)

    def forward(self, x):
        h = self.body(x).mean((2, 3))
        {result}


net = Served().eval()
with torch.no_grad():
    {use}
"""
TRACED = """\
served = torch.jit.trace(net, torch.rand({batch}, 3, 16, 16))
    for batch in torch.rand(24, 3, 16, 16).split(8):
        print(served(batch)[0].shape)
"""
EXAMPLES = """\
served = torch.jit.trace(func=net, example_inputs=(torch.rand({batch}, 3, 16, 16),))
    served.save("served.pt")
    print(torch.jit.load("served.pt")(torch.rand(8, 3, 16, 16))[0].shape)
"""
PLAIN = "print(net(torch.rand({batch}, 3, 16, 16))[0].shape)\n"
WRONG = "return F.softmax(self.fc(h), dim=0), h"
POOLED = "w = F.softmax(self.fc(h), dim=0)\n        return w.t() @ h, w"
RIGHT = {
    "the classes": "return F.softmax(self.fc(h), dim=1), h",
    "weights of a bag": POOLED,
    "regions and classes": (
        "w = F.softmax(self.fc(h), dim=0) * F.softmax(self.other(h), dim=1)\n"
        "        return w.sum(0), h"
    ),
    "one score for each sample": "return F.softmax(self.fc(h)[:, :1], dim=0), h",
    "a vote of the classes": "return F.softmax(self.fc(h).mean(0), dim=0), h",
}


@pytest.mark.parametrize("use", [TRACED, EXAMPLES, PLAIN])
@pytest.mark.parametrize(
    ("batch", "effect"),
    [
        (1, "of one sample, every result is 1"),
        (4, "its 4 samples share what each should have"),
    ],
)
def test_a_softmax_along_the_samples_of_an_example(
    use: str, batch: int, effect: str, tmp_path: Path
) -> None:
    text = PROGRAM.format(result=WRONG, use=use.format(batch=batch))
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "batch-axis"
    assert finding.message.endswith(f"runs along dim 0, the batch: {effect}")
    assert finding.fixes[0].message == "`F.softmax(self.fc(h), dim=-1)`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize(("use", "batch"), [(TRACED, 1), (PLAIN, 1), (PLAIN, 4)])
@pytest.mark.parametrize("name", RIGHT)
def test_a_softmax_that_is_meant(
    name: str, use: str, batch: int, tmp_path: Path
) -> None:
    text = PROGRAM.format(result=RIGHT[name], use=use.format(batch=batch))
    assert not rehearsed(tmp_path, text).findings


def test_a_softmax_along_the_steps_of_one_sample(tmp_path: Path) -> None:
    """Without a layer that says so, dim 0 may count steps, of which this is one."""
    text = PROGRAM.format(result=WRONG, use="print(F.softmax(net.fc(x), dim=0))")
    text = text.replace("net = ", "x = torch.rand(1, 8)\nnet = ")
    assert not rehearsed(tmp_path, text).findings
