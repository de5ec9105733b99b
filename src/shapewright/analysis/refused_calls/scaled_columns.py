"""Scalers and encoders of scikit-learn that are given a single column as a series or an
array of one dim: they take a table of rows and columns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

REFUSED = re.compile(
    r"Expected a 2-dimensional container but got <class 'pandas.*Series'>"
    r"|Expected 2D array, got 1D array instead"
)
KINDS = re.compile(r"(Scaler|Encoder|Imputer|Transformer|Normalizer|Binarizer)$")
FITTING = ("fit", "fit_transform", "partial_fit")
METHODS = (*FITTING, "transform", "inverse_transform")


def find_scaled_column(program: Program, finding: Finding) -> Explanation | None:
    """Return that a scaler takes a table, and the edits of all its calls, or None."""
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None or not REFUSED.search(finding.words):
        return None
    failing = next(
        (c for c in _iter_calls(text) if c.lineno <= span.line <= (c.end_lineno or 0)),
        None,
    )
    owner = get_receiver(failing) if failing is not None else None
    if failing is None or owner is None:
        return None
    name, taken = text.written(owner), failing.args[0]
    is_series = "Series" in finding.words
    kind = "a series" if is_series else "an array of one dim"
    message = (
        f"`{name}` takes rows and columns, and `{text.line_of(taken)}` is {kind}: one"
        " column is a table with one column"
    )
    calls = [c for c in _iter_calls(text) if _is_of(text, c, owner)]
    fitted = [c for c in calls if get_called_name(c) in FITTING]
    is_fit = get_called_name(failing) in FITTING
    if not is_fit and not any(_has_one_column(text, c.args[0]) for c in fitted):
        return Explanation(message)  # a row may be meant
    if not KINDS.search(get_called_name(_find_builder(text, owner))):
        return Explanation(message)
    edits: list[Edit] = []
    for call in calls:
        edit = _write_column(text, call.args[0], is_series)
        if edit is not None and edit not in edits:
            edits.append(edit)
    first = _write_column(text, taken, is_series)
    if first is None:
        return Explanation(message)
    more = f", and so in {len(edits) - 1} more" if len(edits) > 1 else ""
    fix = Fix("fits", f"`{_describe_edit(text, taken, first)}`{more}", tuple(edits))
    return Explanation(message, (), (fix,))


def _iter_calls(text: SourceText) -> Iterator[ast.Call]:
    """Yield the calls of methods that fit or apply a scaler."""
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) not in METHODS:
            continue
        if node.args and get_receiver(node) is not None:
            yield node


def _is_of(text: SourceText, call: ast.Call, owner: ast.expr) -> bool:
    """Return whether a call is one of the same scaler."""
    other = get_receiver(call)
    return other is not None and text.written(other) == text.written(owner)


def _find_builder(text: SourceText, owner: ast.expr) -> ast.expr:
    """Return the call that builds a scaler: `MinMaxScaler()`, also as it is fitted."""
    value = find_known_value(text, owner)
    receiver = get_receiver(value) if isinstance(value, ast.Call) else None
    is_fitted = get_called_name(value) == "fit" and receiver is not None
    return receiver if is_fitted and receiver is not None else value


def _has_one_column(text: SourceText, node: ast.expr) -> bool:
    """Return whether a table is written with one column."""
    written = text.written(find_known_value(text, node))
    return bool(re.search(r"reshape\(-1, 1\)|\[:, None\]|\[\[[^,\]]+\]\]", written))


def _write_column(text: SourceText, node: ast.expr, is_series: bool) -> Edit | None:
    """Return the edit that makes a column of a table one with two dims."""
    if _has_one_column(text, node):
        return None
    inner = node
    while isinstance(inner, ast.Call | ast.Attribute):
        is_array = isinstance(inner, ast.Attribute) and inner.attr == "values"
        if isinstance(inner, ast.Call):
            is_array = get_called_name(inner) == "to_numpy" and not inner.args
        owner = inner.value if isinstance(inner, ast.Attribute) else get_receiver(inner)
        if not is_array or owner is None:
            break
        inner = owner
    key = inner.slice if isinstance(inner, ast.Subscript) else None
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return Edit(text.span(key), f"[{text.written(key)}]")
    if is_series and isinstance(node, ast.Name | ast.Attribute):
        return Edit(text.span(node).end, ".to_frame()")
    is_simple = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    is_simple = is_simple and bool(get_dotted_name(_get_root(node)))
    return Edit(text.span(node).end, ".reshape(-1, 1)") if is_simple else None


def _get_root(node: ast.expr) -> ast.expr:
    """Return the name that an expression begins with."""
    while isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _describe_edit(text: SourceText, node: ast.expr, edit: Edit) -> str:
    """Return an argument as it is after its edit."""
    written = join_lines(text.written(node))
    if edit.text.startswith("["):
        return written.replace(f"[{edit.text[1:-1]}]", f"[{edit.text}]", 1)
    return written + edit.text
