"""Attributes that are set before `super().__init__()` overwrites them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, inputs, width=4):
        super().__init__()
BASE
        self.body = nn.Linear(inputs, self.width)
        self.last = self.norm(self.width)

    def describe(self):
        return self.norm.__name__

    def forward(self, x):
        return self.last(self.body(x))


class Own(Base):
    def __init__(self, *args, plain=True, width=6, **words):
OWN


print(Own(6)(torch.randn(8, 6)).shape)
"""
SET = "self.width = width\nself.norm = nn.BatchNorm1d"
EARLY = (
    "self.norm = nn.LayerNorm  # here\nself.extra = 2\n"
    "super().__init__(*args, width=width)"
)
WRONG = {
    "a class": (SET, EARLY),
    "under a condition": (
        SET,
        "if plain:\n    self.norm = nn.LayerNorm  # here\nsuper().__init__(*args)",
    ),
    "a default of the base class": (
        SET.replace("nn.Batch", "nn.Layer").replace("1d", ""),
        "self.norm = nn.LayerNorm\nself.width = 6  # here\nsuper().__init__(6)",
    ),
}


def told(folder: Path, base: str, own: str) -> list[tuple[str, list[str]]]:
    """The lines of attributes that are overwritten, and the edits for them."""
    text = SCRIPT
    for word, lines in (("BASE", base), ("OWN", own)):
        text = text.replace(f"\n{word}\n", "\n" + _indent(lines) + "\n", 1)
    report = rehearsed(folder, text)
    assert report.complete
    lines = text.splitlines()
    return [
        (
            lines[found.span.line - 1] if found.span else "",
            [fix.message for fix in found.fixes if fix.checked],
        )
        for found in report.findings
        if found.code == "size-attribute-set"
    ]


def _indent(lines: str) -> str:
    return "\n".join(f"        {line}" for line in lines.splitlines())


@pytest.mark.parametrize(("base", "own"), WRONG.values(), ids=WRONG)
def test_an_overwritten_setting_is_found(tmp_path: Path, base: str, own: str) -> None:
    ((line, edits),) = told(tmp_path, base, own)
    assert line.endswith("# here")
    assert edits
    assert edits[0].startswith("`if not hasattr(self, ")


START = "super().__init__(*args, width=width)"
RIGHT = {
    "only if it is not there": (
        'self.width = width\nif not hasattr(self, "norm"):\n'
        "    self.norm = nn.BatchNorm1d",
        EARLY,
    ),
    "asked for": (
        'self.width = width\nself.norm = getattr(self, "norm", nn.BatchNorm1d)',
        EARLY,
    ),
    "read first": (
        "print(self.describe())\nself.width = width\nself.norm = nn.BatchNorm1d",
        EARLY,
    ),
    "the same value": (SET, EARLY.replace("LayerNorm", "BatchNorm1d")),
    "what is handed over": (SET, f"self.width = width\n{START}"),
    "what may be handed over": (SET, "self.width = width\nsuper().__init__(*args)"),
    "set again behind": (SET, EARLY + "\nself.norm = nn.LayerNorm"),
    "set behind": (SET, f"{START}\nself.norm = nn.LayerNorm"),
    "an empty place": (SET, f"self.norm = None\n{START}"),
    "set under a condition": (
        "self.width = width\nif inputs > 3:\n    self.norm = nn.BatchNorm1d",
        EARLY,
    ),
}


@pytest.mark.parametrize(("base", "own"), RIGHT.values(), ids=RIGHT)
def test_what_has_an_effect_is_left_alone(tmp_path: Path, base: str, own: str) -> None:
    assert told(tmp_path, base, own) == []
