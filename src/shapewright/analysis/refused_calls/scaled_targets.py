"""Predictions of one column that go back through a scaler of all columns: a scaler of
the target alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.fitted_steps import (
    find_step,
    iter_fits,
)
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
)

ONE = re.compile(
    r"non-broadcastable output operand with shape \(\d+,(1)\) .*shape \(\d+,(\d+)\)"
)
SOME = re.compile(
    r"operands could not be broadcast together with shapes \(\d+,(\d+)\) \((\d+),\)"
)


def find_scaled_target(program: Program, finding: Finding) -> Explanation | None:
    """Return on how many columns a scaler was fitted that takes fewer back, or None."""
    refused = ONE.search(finding.words) or SOME.search(finding.words)
    step = find_step(program, finding) if refused is not None else None
    if step is None or refused is None:
        return None
    text, owner, method, taken = step
    if taken is None:
        return None
    fits = list(iter_fits(program, owner))
    if method.attr != "inverse_transform" or not fits:
        return None
    got, needed = int(refused[1]), int(refused[2])
    name = text.written(owner)
    own, call = fits[0]
    columns = "1 column" if got == 1 else f"{got} columns"
    message = f"`{name}` was fitted on {needed} columns"
    message += f", those of `{own.line_of(call.args[0])}`" if call.args else ""
    message += f", and gets {columns} of `{text.line_of(taken)}`: what is predicted"
    message += " needs a scaler of its own"
    related = (Related(own.span(call), f"`{name}` is fitted here"),)
    fixes: tuple[Fix, ...] = ()
    if got == 1 and own is text and len(fits) == 1 and call.args:
        fixes = tuple(_suggest_own_scaler(text, owner, call, needed))
    return Explanation(message, related, fixes)


def _suggest_own_scaler(
    text: SourceText, owner: ast.expr, fit: ast.Call, needed: int
) -> Iterator[Fix]:
    """Suggest a scaler that is fitted on the column that is the target."""
    name, rows = get_dotted_name(owner), fit.args[0]
    new, built = "target_scaler", _find_scaler(text, owner)
    names = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    in_function = text.around(owner, *FUNCTIONS) is not text.around(fit, *FUNCTIONS)
    columns = set(_iter_columns(text, name, needed))
    if not name or "." in name or new in names or built is None or len(columns) != 1:
        return
    if in_function or not isinstance(rows, ast.Name | ast.Attribute):
        return
    column = next(iter(columns))
    end = "" if column in (-1, needed - 1) else str(column + 1)
    part = f"{text.written(rows)}[:, {column}:{end}]"
    line = f"{new} = {text.written(built)}.fit({part})"
    edits = (
        write_after(text, text.statement_of(fit), line),
        Edit(text.span(owner), new),
    )
    yield Fix("fits", f"`{line}`, and `{new}` here", edits)


def _find_scaler(text: SourceText, owner: ast.expr) -> ast.Call | None:
    """Return the call that builds a scaler, without what it is fitted on."""
    for node in text.nodes:
        if not isinstance(node, ast.Assign):
            continue
        if not any(get_dotted_name(t) == get_dotted_name(owner) for t in node.targets):
            continue
        for part in ast.walk(node.value):
            if isinstance(part, ast.Call) and get_called_name(part).endswith("Scaler"):
                return part
    return None


def _iter_columns(text: SourceText, scaler: str, needed: int) -> Iterator[int]:
    """Yield the single columns that are read of rows that a scaler has scaled."""
    scaled: set[str] = set()
    for node in text.nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            value = node.value  # type: ignore[attr-defined]
            values = (
                value.elts if isinstance(value, ast.Tuple) else [value] * len(names)
            )
            for part, source in zip(names, values, strict=False):
                is_scaled = get_called_name(source) in ("transform", "fit_transform")
                if is_scaled and text.written(source).startswith(f"{scaler}."):
                    scaled.add(get_dotted_name(part))
    for node in text.nodes:
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
            continue
        if get_dotted_name(node.value) in scaled:
            column = _get_column(node.slice.elts[-1], needed)
            if column is not None:
                yield column


def _get_column(part: ast.expr, needed: int) -> int | None:
    """Return the only column that an index takes, counted from 0, or None."""
    if isinstance(part, ast.Slice):
        first = _get_number(part.lower, 0)
        last = _get_number(part.upper, needed)
        if first is None or last is None or part.step is not None:
            return None
        first, last = first % needed, last if last >= 0 else last + needed
        return first if last - first == 1 else None
    number = _get_number(part, None)
    return None if number is None else number % needed


def _get_number(part: ast.expr | None, default: int | None) -> int | None:
    """Return the number that is written, the default where nothing is, or None."""
    if part is None:
        return default
    try:
        value = ast.literal_eval(part)
    except ValueError:
        return None
    return value if type(value) is int else None
