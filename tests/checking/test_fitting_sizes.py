"""Beside an error of a size stands an input with which the program runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

MODEL = """\
import torch
from torch import nn
import torch.nn.functional as F


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 4, 5)
        self.fc = nn.Linear(4 * 12 * 12, 10)

    def forward(self, x):
        return self.fc(F.max_pool2d(self.c(x), 2).flatten(1))


class Skip(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(16, 8, 1)

    def forward(self, x):
        a = self.a(x)
        small = F.max_pool2d(F.max_pool2d(a, 2), 2)
        return self.b(torch.cat([a, F.interpolate(small, scale_factor=4)], 1))


class Never(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3), nn.Conv2d(3, 8, 5)

    def forward(self, x):
        return self.a(x) + self.b(x)
"""


@pytest.mark.parametrize(
    ("name", "spec", "fits"),
    [
        ("Digits", "f32[16, 1, 32, 32]", '-i "f32[16, 1, 28, 28]"'),
        ("Skip", "f32[2, 3, 37, 50]", '-i "f32[2, 3, 40, 52]"'),
        ("Never", "f32[2, 3, 37, 50]", ""),
    ],
)
def test_it_is_told_with_which_sizes_it_runs(
    name: str, spec: str, fits: str, tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(MODEL)
    finding = api.check_target(f"{file}:{name}", spec).findings[0]
    lines = [line for line in finding.lines if line.startswith("it runs with ")]
    assert lines == ([f"it runs with {fits} (checked)"] if fits else [])
