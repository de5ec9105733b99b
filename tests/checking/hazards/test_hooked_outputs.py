"""Outputs that a hook keeps and that the next layer writes in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

block = nn.Sequential(
    nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(inplace={inplace}), nn.Linear(6, 2)
)
stored, kept = [], {{}}
{hook}
with torch.no_grad():
    block(torch.randn(8, 4))
print(len(stored), len(kept))
"""
HOOK = (
    "def keep(module, inputs, output):\n    {}\n\nblock[1].register_forward_hook(keep)"
)
MAKER = (
    "def make(name):\n    def hook(module, inputs, output):\n        {}\n"
    "    return hook\n\nblock[{}].register_forward_hook(make('bn'))"
)
WRONG = {
    "a list": HOOK.format("stored.append(output.detach())"),
    "a dict": MAKER.format("kept[name] = output.detach()", 1),
    "on the CPU": HOOK.format("stored.append(output.detach().cpu())"),
    "a lambda": "block[1].register_forward_hook(\n"
    "    lambda m, i, o: stored.append(o.detach())\n)",
}
RIGHT = {
    "a clone": HOOK.format("stored.append(output.detach().clone())"),
    "a mean": HOOK.format("stored.append(output.detach().mean(0))"),
    "behind the activation": MAKER.format("kept[name] = output.detach()", 2),
    "printed": HOOK.format("print(output.detach().shape)"),
}


def find_kept(folder: Path, hook: str, inplace: bool = True) -> list[list[str]]:
    """The checked fixes of each finding of what is kept."""
    report = rehearsed(folder, SCRIPT.format(hook=hook, inplace=inplace))
    assert report.complete
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "same-tensor-kept"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_an_output_that_is_overwritten_is_told(name: str, tmp_path: Path) -> None:
    ((fix,),) = find_kept(tmp_path, WRONG[name])
    assert fix.endswith(".detach().clone()`")


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_other_hooks(name: str, tmp_path: Path) -> None:
    assert find_kept(tmp_path, RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_other_activations_leave_it(name: str, tmp_path: Path) -> None:
    assert find_kept(tmp_path, WRONG[name], inplace=False) == []
