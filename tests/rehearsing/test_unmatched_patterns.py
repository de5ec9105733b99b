"""Patterns of what is frozen that match no module, but a parameter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import re

import torch
from torch import nn

PATTERN = r"stem.*|.*tokens.*"
PARTS = ["stem", "tokens"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Linear(6, 8), nn.Linear(8, 3)
        self.tokens = nn.Parameter(torch.randn(8))

    def forward(self, x):
        return self.head(self.stem(x) + self.tokens)


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


def freeze_parts(model, pattern):
    {body}


model = Net()
freeze_parts(model, {pattern})
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 6)).square().mean().backward()
    optimizer.step()
"""
LOOP = "for name, module in model.named_modules():\n        if {}:\n            {}"
MATCH = LOOP.format("re.fullmatch(pattern, name)", "freeze(module)")
WRONG = {
    "an expression": (MATCH, "PATTERN"),
    "written in the call": (MATCH, "'tokens|stem'"),
    "a search": (
        LOOP.format("re.search(pattern, name) is not None", "freeze(module)"),
        "'(stem|tokens)$|tok'",
    ),
    "words": (
        LOOP.format("any(k in name for k in pattern)", "module.requires_grad_(False)"),
        "PARTS",
    ),
    "one word": (LOOP.format("'tokens' in name", "freeze(module)"), "''"),
}
RIGHT = {
    "modules": (MATCH, "'stem.*'"),
    "parameters too": (
        MATCH + "\n    for name, p in model.named_parameters():\n"
        "        if re.fullmatch(pattern, name):\n            p.requires_grad = False",
        "PATTERN",
    ),
    "no such part": (MATCH, "'stem.*|.*decoder.*'"),
    "both in brackets": (
        LOOP.format("re.search(pattern, name)", "freeze(module)"), "'(stem|tokens)'"
    ),
    "all others": (
        LOOP.format("not re.search(pattern, name)", "print(name)"), "'tokens'"
    ),
    "no freezing": (LOOP.format("re.search(pattern, name)", "print(name)"), "PATTERN"),
}  # fmt: skip


def _find(folder: Path, body: str, pattern: str) -> list[tuple[str, int]]:
    """Return the findings, each with the number of its edits that were run."""
    text = SCRIPT.format(body=body, pattern=pattern)
    return [
        (finding.code, sum(fix.checked for fix in finding.fixes))
        for finding in rehearsed(folder, text).findings
        if finding.code == "flag-without-effect"
    ]


@pytest.mark.parametrize("case", WRONG)
def test_a_pattern_of_a_parameter_freezes_nothing(case: str, tmp_path: Path) -> None:
    assert _find(tmp_path, *WRONG[case]) == [("flag-without-effect", 1)]


@pytest.mark.parametrize("case", RIGHT)
def test_patterns_of_modules_are_quiet(case: str, tmp_path: Path) -> None:
    assert _find(tmp_path, *RIGHT[case]) == []
