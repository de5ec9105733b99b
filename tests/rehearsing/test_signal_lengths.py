"""Real inverse transforms of signals of an odd length."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import fft, nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(8, dtype=torch.cfloat))
        self.point = nn.Conv1d(4, 4, 1)

    def forward(self, x):
        f = torch.fft.rfft(x, dim=-1)
        out = torch.zeros_like(f)
        out[..., :8] = f[..., :8] * self.gain
        {body}


layer = Layer()
for step in range(2):
    layer(torch.randn(3, 4, {length})).mean().backward()
"""
BODIES = {
    "a sum": (
        "return torch.fft.irfft(out, dim=-1) + self.point(x)",
        "`torch.fft.irfft(out, dim=-1, n=x.size(-1))`",
    ),
    "by a name": (
        "y = fft.irfft(out)\n        y = torch.relu(y)\n        return x - y",
        "`fft.irfft(out, n=x.size(-1))`",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_length_of_the_signal_is_kept(name: str, tmp_path: Path) -> None:
    body, fix = BODIES[name]
    found = rehearsed(tmp_path, PROGRAM.format(body=body, length=33)).findings[0]
    assert [each.message for each in found.fixes] == [fix]
    assert found.fixes[0].checked


@pytest.mark.parametrize("name", BODIES)
def test_signals_of_an_even_length_fit(name: str, tmp_path: Path) -> None:
    body, _ = BODIES[name]
    assert not rehearsed(tmp_path, PROGRAM.format(body=body, length=32)).findings


def test_another_length_is_not_written(tmp_path: Path) -> None:
    body = "return torch.fft.irfft(out) + self.point(x)[..., :20]"
    found = rehearsed(tmp_path, PROGRAM.format(body=body, length=33)).findings[0]
    assert not any("n=" in fix.message for fix in found.fixes)
