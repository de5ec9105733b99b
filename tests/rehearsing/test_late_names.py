"""Names that a function reads above the line that sets them, and kernels of another
number of dims.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
{head}
def join(parts, reference):
    {first}
    {second}
    whole = parts.reshape(-1, sides, 4)
    return whole

for step in range(2):
    print(join(torch.randn(8, 2, 4), torch.randn(4, 8)).shape)
"""


def find_errors(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    "first",
    [
        "sides = reference.shape[0] // whole.shape[1]",
        "sides = max(1, reference.numel() // whole.numel())",
    ],
)
def test_a_name_that_is_set_below_is_told(first: str, tmp_path: Path) -> None:
    text = PROGRAM.format(head="", first=first, second="pass")
    (finding,) = find_errors(tmp_path, text)
    assert finding.message == "`whole` is read here and set only below, at line 7"
    assert [fix.message for fix in finding.fixes] == ["`parts` for `whole`"]


def test_a_name_of_the_module_gets_no_other(tmp_path: Path) -> None:
    first = "sides = reference.shape[0] // whole.shape[1]"
    head = "whole = torch.randn(2, 4)"
    text = PROGRAM.format(head=head, first=first, second="pass")
    (finding,) = find_errors(tmp_path, text)
    assert "makes it a name of the function's own" in finding.message
    assert not finding.fixes


def test_a_name_of_the_turn_before_gets_no_other(tmp_path: Path) -> None:
    text = """\
import torch

def run(parts):
    for part in parts:
        size = last.shape[0]
        last = part
    return size

print(run(torch.randn(3, 4)))
"""
    (finding,) = find_errors(tmp_path, text)
    assert "`last` is read here and set only below" in finding.message
    assert not finding.fixes


def test_a_name_that_is_set_above_is_quiet(tmp_path: Path) -> None:
    first = "whole = parts"
    second = "sides = reference.shape[0] // whole.shape[1]"
    text = PROGRAM.format(head="", first=first, second=second)
    assert not find_errors(tmp_path, text)


KERNEL = """\
import torch
from torch import nn

class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = nn.{layer}(1, 2, {kernel})

    def forward(self, x):
        return self.pair(x)

net = Pairs()
for step in range(2):
    net(torch.randn({shape})).mean().backward()
"""


@pytest.mark.parametrize(
    ("layer", "kernel", "shape", "edit"),
    [
        ("Conv1d", "kernel_size=(1, 2)", "4, 1, 8, 8", "2d"),
        ("Conv1d", "(1, 2)", "4, 1, 8, 8", "2d"),
        ("Conv2d", "kernel_size=(1, 2, 2)", "4, 1, 8, 8, 8", "3d"),
    ],
)
def test_a_kernel_of_as_many_dims_as_the_input_keeps_its_numbers(
    layer: str, kernel: str, shape: str, edit: str, tmp_path: Path
) -> None:
    text = KERNEL.format(layer=layer, kernel=kernel, shape=shape)
    (finding,) = find_errors(tmp_path, text)
    assert finding.code == "window-numbers"
    assert [part.text for part in finding.fixes[0].edits] == [edit]
    assert finding.fixes[0].checked


def test_a_kernel_that_fits_is_quiet(tmp_path: Path) -> None:
    text = KERNEL.format(layer="Conv2d", kernel="(1, 2)", shape="4, 1, 8, 8")
    assert not find_errors(tmp_path, text)
