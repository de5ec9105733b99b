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
    "wrong-axis, a softmax of one": (
        "self.a = nn.Linear(20, 4)",
        "w = self.a(x).unsqueeze(-1); return (w.softmax(-1) * w).sum(2)",
    ),
    "view-mixes-dims, tokens as an image": (
        "self.a = nn.Linear(20, 16)",
        "return self.a(x).reshape(len(x), 16, 3, 3)",
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
    "tokens as an image, transposed": (
        "self.a = nn.Linear(20, 16)",
        "return self.a(x).transpose(1, 2).reshape(len(x), 16, 3, 3)",
    ),
    "a softmax over steps": (
        "self.a = nn.Linear(20, 1)", "return (self.a(x).softmax(1) * x).sum(1)"
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


ATTENTION = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x, past):
        q, k, v = self.qkv(x).view(2, 4, 3, 2, 8).permute(2, 0, 3, 1, 4)
        {line}


def example_inputs():
    return torch.randn(2, 4, 16), torch.randn(2, 2, 5, 8)
"""
MASKS = {
    "a causal mask on a cache": (
        "k, v = torch.cat([past, k], 2), torch.cat([past, v], 2);"
        " return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        ["mask-axis"],
    ),
    "truths of a mask that is added": (
        "mask = torch.full((4, 4), float('-inf')).triu(1).to(torch.bool);"
        " return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
        ["mask-axis"],
    ),
    "causal among its own": (
        "return F.scaled_dot_product_attention(q, k, v, is_causal=True)", [],
    ),
    "a mask that is added": (
        "mask = torch.full((4, 4), float('-inf')).triu(1);"
        " return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)", [],
    ),
    "a mask of the past": (
        "mask = torch.ones(4, 4).tril().to(torch.bool);"
        " return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_fused_attention(name: str, tmp_path: Path) -> None:
    line, codes = MASKS[name]
    file = tmp_path / "net.py"
    file.write_text(ATTENTION.format(line=line))
    report = api.check_target(f"{file}:Net")
    found = [each.code for each in report.findings if each.severity != "note"]
    assert [code for code in found if code != "cpu-tensor"] == codes


POSITIONS = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(50, 16), nn.Embedding(50, 16)
        self.qkv = nn.Linear(16, 48)

    def forward(self, ids):
        h = self.token(ids) + self.place(POSITIONS)
        q, k, v = self.qkv(h).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v)


def example_inputs():
    return (torch.randint(0, 50, (6, 9)),)
"""


@pytest.mark.parametrize(
    ("positions", "codes"),
    [
        ("torch.arange(ids.size(0)).unsqueeze(1)", ["batch-axis"]),
        ("torch.arange(ids.size(1)).unsqueeze(0)", []),
        ("torch.arange(ids.size(0)).unsqueeze(1).expand_as(ids)", ["batch-axis"]),
        ("torch.arange(ids.size(1)).unsqueeze(0).expand_as(ids)", []),
    ],
)
def test_positions_count_the_steps(
    positions: str, codes: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(POSITIONS.replace("POSITIONS", positions))
    report = api.check_target(f"{file}:Net")
    found = [each.code for each in report.findings if each.severity != "note"]
    assert [code for code in found if code != "cpu-tensor"] == codes


NAMED = {
    "torch.arange(ids.size(0)).unsqueeze(1)": "`size(1)` and `unsqueeze(0)`",
    "torch.arange(0, ids.shape[0])[:, None]": "`size(1)` and `[None]`",
    "torch.arange(rows).unsqueeze(-1)": "`arange(columns)` and `unsqueeze(0)`",
    "torch.arange(steps).unsqueeze(1)": (
        "`samples, steps = ids.size()` and `unsqueeze(0)`"
    ),
}


@pytest.mark.parametrize("positions", NAMED)
def test_positions_of_steps_are_suggested(positions: str, tmp_path: Path) -> None:
    sizes = "        rows, columns = ids.shape\n        steps, samples = ids.size()\n"
    text = POSITIONS.replace("POSITIONS", positions)
    text = text.replace("        h = ", f"{sizes}        h = ")
    file = tmp_path / "net.py"
    file.write_text(text)
    findings = api.check_target(f"{file}:Net").findings
    (finding,) = (each for each in findings if each.code == "batch-axis")
    assert finding.fixes[0].message == f"{NAMED[positions]} for the positions"
    assert finding.fixes[0].checked


PLAIN = """\
import torch
from torch import nn
import torch.nn.functional as F


class Head{base}:
    def __init__(self):
        {start}
        self.weight = nn.Parameter(torch.randn(5, 20))

    def __call__(self, x):
        return F.linear(x, self.weight)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(20, 20), Head()

    def forward(self, x):
        return self.head(self.body(x))


def example_inputs():
    return (torch.randn(6, 20),)
"""


@pytest.mark.parametrize(
    ("base", "start", "found"),
    [("", "pass", True), ("(nn.Module)", "super().__init__()", False)],
)
def test_a_class_with_parameters_is_a_module(
    base: str, start: str, found: bool, tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(PLAIN.format(base=base, start=start))
    findings = api.check_target(f"{file}:Net").findings
    assert [each.code for each in findings] == (["not-a-parameter"] if found else [])
    assert not found or findings[0].fixes[0].message == "`class Head(nn.Module)`"
