"""Spectra that are inverted with another window or step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

n_fft, hop = 64, 16
window, other = torch.hann_window(n_fft), torch.hamming_window(n_fft)
flat = torch.ones(n_fft)
wave = torch.randn(2, 4000)
net = nn.Linear(33, 33)
spec = torch.stft(wave, n_fft, {hop}, {window}return_complex=True)
mask = net(spec.abs().transpose(1, 2)).sigmoid().transpose(1, 2)
{phase}
out = torch.istft({spec}, n_fft{settings}, length=4000)
(out - wave).pow(2).mean().backward()
"""
PLAIN = {"hop": "hop", "window": "window=window, ", "phase": "", "spec": "spec * mask"}
WRONG = {
    "no window": ({"settings": ", hop"}, "`window=window`"),
    "by magnitude and phase": (
        {"settings": ", hop", "spec": "torch.polar(spec.abs() * mask, spec.angle())"},
        "`window=window`",
    ),
    "no settings": ({"hop": "8", "settings": ""}, "`hop_length=8, window=window`"),
    "another window": ({"settings": ", hop, window=other"}, "`window=window`"),
    "another step": ({"settings": ", 8, window=window"}, "`hop_length=hop`"),
    "a window too many": ({"window": "", "settings": ", hop, window=other"},
                          "`window=None`"),
}  # fmt: skip
RIGHT = {
    "the same": {"settings": ", hop, window=window"},
    "by name": {"settings": ", hop_length=hop, win_length=n_fft, window=window"},
    "the default step": {"settings": ", window=window"},
    "no windows": {"window": "", "settings": ", hop"},
    "ones": {"window": "", "settings": ", hop, window=flat"},
    "a spectrum of its own": {
        "settings": ", hop", "spec": "torch.randn(2, 33, 251, dtype=torch.complex64)"
                                     " * net.weight[0, 0]",
    },
    "stretched": {
        "settings": ", 8, window=window",
        "phase": "phase = torch.cumsum(spec.angle().diff(dim=-1, prepend="
                 "spec.angle()[..., :1]), -1)",
        "spec": "torch.polar(spec.abs() * mask, phase)",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_another_inverse_is_told(name: str, tmp_path: Path) -> None:
    words, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(**{**PLAIN, **words}))
    (finding,) = (f for f in report.findings if f.code == "unlike-inverse")
    assert [one.message for one in finding.fixes if one.checked] == [fix]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_an_inverse(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(**{**PLAIN, **RIGHT[name]}))
    assert "unlike-inverse" not in {f.code for f in report.findings}
