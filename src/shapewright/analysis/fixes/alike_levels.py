"""The levels of a decoder that are written alike: each joins what was upsampled with
the map beside it, `torch.cat([d2, u2], dim=1)`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from shapewright.findings.finding import Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

MOST_SHOWN = 2
"""Edits that the message of a fix shows."""


@dataclass(frozen=True, slots=True)
class _Level:
    """What a level joins: the upsampled map and the one beside it; what upsamples."""

    upsampled: ast.expr
    beside: ast.expr
    call: ast.Call


def list_other_levels(
    text: SourceText, join: ast.AST, at: int, by: int
) -> list[_Level]:
    """Return the other levels in the function of a call that joins an upsampled map, in
    place `at`, and the one in place `by`.
    """
    scope = text.around(join, *FUNCTIONS)
    own = _read_level(text, join, at, by)
    if scope is None or own is None:
        return []
    levels = []
    for node in ast.walk(scope):
        if node is join or get_called_name(node) != get_called_name(join):
            continue
        level = _read_level(text, node, at, by)
        if level is not None and _get_kind(level.call) == _get_kind(own.call):
            levels.append(level)
    return levels


def _get_kind(call: ast.Call) -> str:
    """Return the name of a layer or function without its number: `up` of `self.up2`."""
    return get_called_name(call).rstrip("0123456789_")


def _read_level(text: SourceText, join: ast.AST, at: int, by: int) -> _Level | None:
    """Return what a call joins, if one of two names is what a call just gave."""
    if not isinstance(join, ast.Call) or not join.args:
        return None
    items = getattr(join.args[0], "elts", join.args)
    if len(items) <= max(at, by) or not isinstance(items[at], ast.Name):
        return None
    values = [
        node.value
        for node in ast.walk(text.around(join, *FUNCTIONS) or ast.Pass())
        if isinstance(node, ast.Assign)
        and node.lineno < join.lineno
        and any(isinstance(t, ast.Name) and t.id == items[at].id for t in node.targets)
    ]
    last = max(values, key=lambda value: value.lineno, default=None)
    return _Level(items[at], items[by], last) if isinstance(last, ast.Call) else None


def join_levels(first: Fix, others: list[Fix]) -> Fix:
    """Return the edit of a level together with the same of the others."""
    fixes = [first, *others]
    fixes.sort(key=lambda fix: fix.edits[0].span.line)
    shown = " and ".join(fix.message for fix in fixes[:MOST_SHOWN])
    if len(fixes) > MOST_SHOWN:
        shown += f", and {len(fixes) - MOST_SHOWN} more"
    return Fix("fits", shown, tuple(edit for fix in fixes for edit in fix.edits))
