"""What a model returns, and what is then made of it: last steps, scores, labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {build}

    def forward(self, x):
        {forward}


def example_inputs():
    return (torch.randn(6, 9, 20),)
"""
CASES = {
    "last-step": (
        "self.r = nn.GRU(20, 16, batch_first=True, bidirectional=True)",
        "return self.r(x)[0][:, -1]",
    ),
    "last-step, time first, behind dropout": (
        "self.r = nn.LSTM(20, 16, bidirectional=True); self.d = nn.Dropout(0.1)",
        "return self.d(self.r(x.transpose(0, 1))[0])[-1]",
    ),
    "dropout-always-on": (
        "self.a = nn.Linear(20, 5)", "return self.a(F.dropout(x, 0.3))"
    ),
    "not-a-parameter": (
        "self.a = torch.randn(20, 5)", "return torch.tanh(x @ self.a)"
    ),
    "not-a-parameter, asked for a gradient": (
        "self.a = torch.zeros(20, requires_grad=True); self.b = nn.Linear(20, 5)",
        "return self.b(x + self.a)",
    ),
}  # fmt: skip
RIGHT = {
    "one direction": (
        "self.r = nn.GRU(20, 16, batch_first=True)", "return self.r(x)[0][:, -1]"
    ),
    "the forward half": (
        "self.r = nn.GRU(20, 16, batch_first=True, bidirectional=True)",
        "h = self.r(x)[0]; return torch.cat([h[:, -1, :16], h[:, 0, 16:]], -1)",
    ),
    "all steps": (
        "self.r = nn.GRU(20, 16, batch_first=True, bidirectional=True)",
        "return self.r(x)[0].mean(1)",
    ),
    "the module's mode": (
        "self.a = nn.Linear(20, 5)",
        "return self.a(F.dropout(x, 0.3, self.training))",
    ),
    "a layer": (
        "self.a = nn.Linear(20, 5); self.d = nn.Dropout(0.3)",
        "return self.a(self.d(x))",
    ),
    "dropout on purpose": (
        "self.a = nn.Linear(20, 5)",
        "return self.a(F.dropout(x, 0.3, training=True))",
    ),
    "a parameter": (
        "self.a = nn.Parameter(torch.randn(20, 5))", "return torch.tanh(x @ self.a)"
    ),
    "a buffer": (
        'self.register_buffer("a", torch.randn(20, 5))', "return torch.tanh(x @ self.a)"
    ),
    "random features": (
        "self.a = torch.randn(20, 5)", "return torch.cos(x @ self.a + 1)"
    ),
    "a known matrix": ("self.a = torch.eye(20)", "return torch.tanh(x @ self.a)"),
}  # fmt: skip


def _codes(folder: Path, build: str, forward: str) -> list[tuple[str, bool]]:
    """Code of each finding, and whether an edit was tried that mends it."""
    file = folder / "net.py"
    file.write_text(HEAD.format(build=build, forward=forward))
    report = api.check_target(f"{file}:Net")
    return [(each.code, bool(each.fixes)) for each in report.findings
            if each.severity != "note"]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_with_an_edit(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, *CASES[name]) == [(name.split(",")[0], True)]


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_quiet(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, *RIGHT[name]) == []
