"""State dicts of which `strict=False` loads next to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 8)
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(6)])

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(block(x))
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = Body(), nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.body(x))


net, other = Net(), Net()
body, full = Body().state_dict(), Net().state_dict()
{load}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(9):
    x, y = torch.randn(12, 6), torch.randn(12, 1)
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
"""
WRONG = {
    "a prefix of the model": (
        "net.load_state_dict(body, strict=False)",
        '`{f"body.{k}": v for k, v in body.items()}`',
    ),
    "a prefix of the dict": (
        "net.load_state_dict({'module.' + k: v for k, v in full.items()}, False)",
        '.removeprefix("module.")',
    ),
    "another prefix": (
        "state = {'encoder.' + k: v for k, v in body.items()}\n"
        "net.load_state_dict(state, strict=False)",
        '`{k.replace("encoder.", "body.", 1): v for k, v in state.items()}`',
    ),
    "two prefixes": (
        "state = {**body, **{'fc.' + k[5:]: v for k, v in full.items() if 'head' in k}}"
        "\nnet = nn.DataParallel(net)\nnet.load_state_dict(state, strict=False)",
        'if k.startswith("fc.") else f"module.body.{k}"',
    ),
    "a prefix of the dict, and a head more": (
        "state = {'module.' + k: v for k, v in full.items() if 'head' not in k}\n"
        "state['module.fc.weight'] = torch.zeros(10, 8)\n"
        "net.load_state_dict(state, strict=False)",
        '`{k.removeprefix("module."): v for k, v in state.items()}`',
    ),
    "inside": (
        "state = {'model': full, 'epoch': 3}\nnet.load_state_dict(state, strict=False)",
        '`state["model"]`',
    ),
    "of another model": (
        "net.load_state_dict({f'conv{n}.kernel': torch.ones(3) for n in range(20)},"
        " strict=False)",
        "",
    ),
}
RIGHT = {
    "strict": "net.load_state_dict(full)",
    "all but the head":
        "net.load_state_dict({k: v for k, v in full.items() if 'body' in k}, False)",
    "the head alone":
        "net.head.load_state_dict({**full, 'bias': torch.ones(1)}, strict=False)",
    "a few keys that match":
        "net.load_state_dict({'head.bias': torch.zeros(1)}, strict=False)",
    "nothing given": "net.load_state_dict({}, strict=False)",
    "renamed": "net.load_state_dict({'body.' + k: v for k, v in body.items()}, False)",
    "a part of two": "net.load_state_dict({**body, **full}, strict=False)",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_load_of_nothing_is_found(name: str, tmp_path: Path) -> None:
    load, edit = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(load=load))
    (finding,) = report.findings
    assert finding.code == "unmatched-state-dict"
    assert "none of the" in finding.message
    if edit:
        assert edit in finding.fixes[0].message
        assert finding.fixes[0].checked
    else:
        assert finding.fixes == ()


@pytest.mark.parametrize("name", RIGHT)
def test_a_part_that_matches_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(load=RIGHT[name]))
    assert [each.message for each in report.findings] == []


LOOPED = """\
import torch
from torch import nn

net, wrapped = nn.Linear(4, 2), nn.DataParallel(nn.Linear(4, 2))
larger = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    {load}
"""


@pytest.mark.parametrize(
    ("load", "counts"),
    [
        ("wrapped.load_state_dict(net.state_dict())", [3]),
        ("for other in (wrapped, larger): other.load_state_dict(net.state_dict())",
         [3, 3]),
        ("wrapped.module.load_state_dict(net.state_dict())", []),
    ],
)  # fmt: skip
def test_a_load_in_a_loop_is_one_error(
    load: str, counts: list[int], tmp_path: Path
) -> None:
    findings = rehearsed(tmp_path, LOOPED.format(load=load)).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert [finding.count for finding in errors] == counts
