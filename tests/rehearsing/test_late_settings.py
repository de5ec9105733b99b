"""Attributes that are set behind what the base class has built of their defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Base(BASE):
    rate, width = 0.1, 8
    name = "base"

    def __init__(self, inputs):
        super().__init__()
        BUILD
        print(self.name)

    def run(self, x):
        return self.head(self.drop(x))


class Wide(Base):
    rates = {"low": 0.2, "high": 0.5}

    def __init__(self, inputs, level="high"):
        START
        self.name = "wide"
        AFTER


model = Wide(6)
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model.run(torch.randn(4, 6)).square().mean().backward()
    optimizer.step()
"""
HERE = "self.drop = nn.Dropout(self.rate); self.head = nn.Linear(inputs, 8)"
MADE = "self.make(); self.head = nn.Linear(inputs, 8)"
MAKE = "    def make(self):\n        self.drop = nn.Dropout(self.rate)\n\n"
CALL = "super().__init__(inputs)"
EARLY = f"`self.rate` set before `{CALL}`"
ANEW = "`self.drop = nn.Dropout(self.rate)`"
WRONG = {
    "a parameter": (HERE, "self.rate = self.rates[level]", [EARLY, ANEW]),
    "in a method": (MADE, "self.rate = self.rates[level]", [EARLY, ANEW]),
    "what exists only later": (HERE, "self.rate = self.head.in_features / 9", [ANEW]),
    "a name of the function": (
        HERE, "level = 'low'\n        self.rate = self.rates[level]", [ANEW]
    ),
}  # fmt: skip
QUIET = {
    "set before": (HERE, "self.rate = 0.3\n        " + CALL, "pass"),
    "built again": (
        HERE, CALL, "self.rate = 0.3\n        self.drop = nn.Dropout(self.rate)"
    ),
    "made again": (MADE, CALL, "self.rate = 0.3\n        self.make()"),
    "read only": (HERE, CALL, "self.width = 3"),
    "read later": (
        HERE.replace("nn.Dropout(self.rate)", "nn.Dropout(0.1)")
        + "; self.later = list((lambda: self.rate,))",
        CALL,
        "self.rate = 0.3",
    ),
    "set on the object": (
        HERE, CALL, "self.rate = 0.3\n        self.drop.p = self.rate"
    ),
}  # fmt: skip


def write_script(base: str, build: str, start: str, after: str) -> str:
    """Return the text of a script with these parts."""
    text = SCRIPT.replace("BASE", base).replace("START", start)
    rows = build.replace("; ", "\n        ")
    method = MAKE if "self.make" in build else ""
    text = text.replace("    def run", method + "    def run")
    return text.replace("BUILD", rows).replace("AFTER", after)


@pytest.mark.parametrize("base", ["object", "nn.Module"])
@pytest.mark.parametrize("case", WRONG)
def test_an_attribute_that_is_set_too_late(
    case: str, base: str, tmp_path: Path
) -> None:
    build, after, edits = WRONG[case]
    findings = rehearsed(tmp_path, write_script(base, build, CALL, after)).findings
    assert [finding.code for finding in findings] == ["size-attribute-set"]
    assert [fix.message for fix in findings[0].fixes] == edits


@pytest.mark.parametrize("case", QUIET)
def test_attributes_that_are_set_in_time(case: str, tmp_path: Path) -> None:
    text = write_script("object", *QUIET[case])
    assert not rehearsed(tmp_path, text).findings
