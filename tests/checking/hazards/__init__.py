"""Hazards on programs of a few lines: what is warned of, and what is not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from shapewright import api
from shapewright.findings.finding import Finding

HEAD = """\
import math
import torch
from torch import nn
import torch.nn.functional as F

"""


def program(layers: str, forward: str, inputs: str) -> str:
    """A file with a model: what its constructor sets, its `forward`, its inputs.

    `forward` begins with the names of the inputs: "x, y: ...".
    """
    names, _, body = dedent(forward).strip().partition(":\n")
    return (
        f"{HEAD}\nclass Model(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        f"{indent(dedent(layers).strip(), ' ' * 8)}\n\n"
        f"    def forward(self, {names}):\n{indent(dedent(body), ' ' * 8)}\n\n\n"
        f"def example_inputs():\n    return ({inputs},)\n"
    )


def found(folder: Path, text: str, strict: bool = False) -> list[Finding]:
    """What is found in a program that runs to its end."""
    file = folder / "net.py"
    file.write_text(text)
    report = api.check_target(f"{file}:Model", strict=strict)
    errors = [each.message for each in report.findings if each.severity == "error"]
    assert not errors, errors
    assert report.complete
    return list(report.findings)


def warned(folder: Path, text: str) -> list[str]:
    """Codes and lines of the warnings, as in "layout: out, _ = self.rnn(x)"."""
    lines = text.splitlines()
    return [
        f"{each.code}: {lines[each.span.line - 1].strip()}"
        for each in found(folder, text)
        if each.severity == "warning" and each.span is not None
    ]
