"""What is said of the letters of a trace, shared by terminal and notebook."""

from __future__ import annotations

from collections.abc import Sequence

from shapewright.trace.formulas import Branch, Named
from shapewright.trace.record import Trace

MOST_NAMES = 8
"""Constants whose names are shown."""


def formula_rows(trace: Trace) -> list[tuple[str, str]]:
    """Labels and texts: where the formulas hold, and what has none."""
    formulas = trace.formulas
    if formulas is None:
        return []
    sizes = ", ".join(f"{n} = {trace.letters[n]}" for n in formulas.letters)
    rows = [("formulas", formulas.text()), ("figures", f"at {sizes}")]
    if formulas.names:
        rows.append(("names", _named(trace, formulas.names)))
    rows += [(name, f"{_said(branch)}") for name, branch in formulas.varying.items()]
    rows += [("branch", _said(branch)) for branch in formulas.branches]
    return rows


def _named(trace: Trace, names: Sequence[Named]) -> str:
    """``12 is n_head, 64 is n_embd // n_head (in blocks.0.attn)``, module by module."""
    groups: dict[str, list[str]] = {}
    for each in names[:MOST_NAMES]:
        groups.setdefault(each.module, []).append(f"{each.value} is {each.name}")
    told = [
        f"{', '.join(texts)} (in {path or trace.calls[0].class_name})"
        for path, texts in groups.items()
    ]
    if len(names) > MOST_NAMES:
        told.append(f"{len(names) - MOST_NAMES} more in the record")
    return "; ".join(told)


def _said(branch: Branch) -> str:
    if branch.span is None:
        return branch.message
    return f"{branch.message} ({branch.span.file}:{branch.span.line})"
