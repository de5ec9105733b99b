"""Checkpoints of the reentrant kind: inputs without a gradient, `autograd.grad`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

NET = """\
import torch
from torch import nn
{imports}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.block = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        h = self.first(x)
        {call}
        return self.last(h)

net = Net()
"""
FROZEN = """\
net.first.requires_grad_(False)
net.last.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for _ in range(3):
    loss = net(torch.rand(16, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PENALTY = """\
x = torch.rand(16, 4, requires_grad=True)
slope, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
slope.square().mean().backward()
"""
IMPORT = "from torch.utils.checkpoint import checkpoint"
CALLS = [
    (IMPORT, "h = checkpoint(self.block, h, use_reentrant=True)", "False"),
    (IMPORT, "h = checkpoint(self.block, h)", ", use_reentrant=False"),
    ("import torch.utils.checkpoint",
     "h = torch.utils.checkpoint.checkpoint(self.block, h, use_reentrant=True,)",
     "False"),
    ("import torch.utils.checkpoint as cp", "h = cp.checkpoint(self.block, h)",
     ", use_reentrant=False"),
    ("from torch.utils.checkpoint import checkpoint_sequential",
     "h = checkpoint_sequential(self.block, 2, h, use_reentrant=True)", "False"),
]  # fmt: skip


def find_errors(folder: Path, imports: str, call: str, rest: str) -> list[Finding]:
    text = NET.format(imports=imports, call=call) + rest
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("rest", [FROZEN, PENALTY])
@pytest.mark.parametrize(("imports", "call", "new"), CALLS)
def test_a_reentrant_checkpoint_is_made_the_other_kind(
    imports: str, call: str, new: str, rest: str, tmp_path: Path
) -> None:
    (finding,) = find_errors(tmp_path, imports, call, rest)
    assert "a checkpoint with `use_reentrant=True`" in finding.message
    (fix,) = finding.fixes
    assert [edit.text for edit in fix.edits] == [new]
    assert fix.checked


def test_a_result_that_is_detached_is_told_as_before(tmp_path: Path) -> None:
    call = "h = checkpoint(self.block, h, use_reentrant=True).detach()"
    rest = FROZEN.replace("net.first.requires_grad_(False)", "")
    (finding,) = find_errors(tmp_path, IMPORT, call, rest)
    assert "removes it" in finding.message


@pytest.mark.parametrize(
    ("call", "rest"),
    [
        ("h = checkpoint(self.block, h, use_reentrant=False)", FROZEN),
        ("h = checkpoint(self.block, h, use_reentrant=False)", PENALTY),
        ("h = checkpoint(self.block, h.requires_grad_(), use_reentrant=True)", FROZEN),
    ],
)
def test_checkpoints_with_a_graph_are_quiet(
    call: str, rest: str, tmp_path: Path
) -> None:
    assert not find_errors(tmp_path, IMPORT, call, rest)
