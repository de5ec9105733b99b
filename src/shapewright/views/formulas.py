"""What is said of the letters of a trace, shared by terminal and notebook."""

from __future__ import annotations

from shapewright.trace.formulas import Branch
from shapewright.trace.record import Trace


def formula_rows(trace: Trace) -> list[tuple[str, str]]:
    """Labels and texts: where the formulas hold, and what has none."""
    formulas = trace.formulas
    if formulas is None:
        return []
    sizes = ", ".join(f"{n} = {trace.letters[n]}" for n in formulas.letters)
    rows = [("formulas", formulas.text()), ("figures", f"at {sizes}")]
    rows += [(name, f"{_said(branch)}") for name, branch in formulas.varying.items()]
    rows += [("branch", _said(branch)) for branch in formulas.branches]
    return rows


def _said(branch: Branch) -> str:
    if branch.span is None:
        return branch.message
    return f"{branch.message} ({branch.span.file}:{branch.span.line})"
