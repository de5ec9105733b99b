"""Flags that freeze what should train: the parameters of a list of frozen ones."""

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
        self.trunk, self.head = nn.Linear(4, 8), nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.trunk(x).relu())

net = Net()
FREEZE
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randint(3, (8,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
"""
LISTED = """\
freeze_layers = []
for name, p in net.named_parameters():
    if name.startswith("trunk"):
        freeze_layers.append(name)
        p.requires_grad = True
    else:
        p.requires_grad = False
"""
ASKED = """\
frozen = ["trunk.weight", "trunk.bias"]
for name, p in net.named_parameters():
    if name in frozen:
        p.requires_grad_(True)
    else:
        p.requires_grad_(False)
"""
TURNED = """\
layers_to_freeze = ("trunk",)
for name, p in net.named_parameters():
    if not any(name.startswith(layer) for layer in layers_to_freeze):
        p.requires_grad = False
    else:
        p.requires_grad = True
"""
SHORT = """\
frozen_layers = ("trunk.weight", "trunk.bias")
for name, p in net.named_parameters():
    p.requires_grad = name in frozen_layers
"""
WRONG = [LISTED, ASKED, TURNED, SHORT]


def swap(text: str) -> str:
    """The same flags the right way round."""
    text = text.replace("True", "?").replace("False", "True").replace("?", "False")
    return text.replace("= name in", "= name not in")


RIGHT = [
    *map(swap, WRONG),
    ASKED.replace("frozen", "unfrozen"),
    ASKED.replace("frozen", "trained"),
    ASKED.replace("    else:\n        p.requires_grad_(False)\n", ""),
    "def unfreeze(net):\n"
    + "".join(f"    {line}\n" for line in ASKED.splitlines())
    + "unfreeze(net)",
]


@pytest.mark.parametrize("freeze", WRONG)
def test_swapped_flags(tmp_path: Path, freeze: str) -> None:
    text = SCRIPT.replace("FREEZE", freeze)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "flag-without-effect"
    assert "the wrong way round" in finding.message
    assert len(finding.fixes) == 1


@pytest.mark.parametrize("freeze", RIGHT)
def test_meant_flags(tmp_path: Path, freeze: str) -> None:
    text = SCRIPT.replace("FREEZE", freeze)
    assert not rehearsed(tmp_path, text).findings


HEADS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.heads = HEADS
    def forward(self, x, task):
        h = self.trunk(x).relu()
        return CALL

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randint(3, (8,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x, TASK), y).backward()
    optimizer.step()
"""
LIST = "nn.ModuleList(nn.Linear(8, 3) for _ in range(2))"
DEEP = LIST.replace("nn.Linear(8, 3)", "nn.Sequential(nn.ReLU(), nn.Linear(8, 3))")
DICT = "nn.ModuleDict({k: nn.Linear(8, 3) for k in 'ab'})"


@pytest.mark.parametrize(
    ("heads", "call", "task"),
    [
        (LIST, "self.heads[task](h)", "0"),
        (DEEP, "self.heads[task](h)", "1"),
        (DICT, "self.heads[task](h)", "'a'"),
        (LIST, "self.heads[str(task)](h)", "0"),
    ],
)
def test_heads_of_other_tasks(tmp_path: Path, heads: str, call: str, task: str) -> None:
    text = HEADS.replace("HEADS", heads).replace("CALL", call).replace("TASK", task)
    if "str(" in call:
        text = text.replace(LIST, "nn.ModuleDict({k: nn.Linear(8, 3) for k in '01'})")
    assert not rehearsed(tmp_path, text).findings


def test_a_forgotten_head(tmp_path: Path) -> None:
    text = HEADS.replace("HEADS", LIST).replace("CALL", "self.heads[0](h)")
    findings = rehearsed(tmp_path, text.replace("TASK", "0")).findings
    assert [f.code for f in findings] == ["no-gradient"]
