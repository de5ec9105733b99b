"""Find masks that are made of the length of a list behind its padding: ones for each
padded place too.

The text says it: `ids.append(0)` until the list is as long as it may be, and then
`mask[:len(ids)] = 1`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import values_of
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
)

ONES = frozenset(name for name, value in values_of("fills_with").items() if value == 1)


@dataclass(frozen=True, slots=True)
class LateMask:
    """The statement that sets the ones of a mask, the one that pads the list before,
    with what, and the name of that list.
    """

    statement: ast.Assign
    padding: ast.stmt
    value: ast.expr
    tokens: str


def find_late_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find masks of ones that are as long as a list that was padded before."""
    for text in scene.program.own_texts():
        for late in iter_late_masks(text):
            mask = get_last_name(_get_mask(late.statement))
            message = (
                f"`{mask}` is 1 everywhere: `{late.tokens}` is padded with"
                f" `{text.line_of(late.value)}` before, and `len({late.tokens})` counts"
                " its padding too"
            )
            place = Related(text.span(late.padding), "the tokens are padded here")
            span = text.span(late.statement)
            yield Finding(MASK_AXIS, "warning", message, span, related=(place,))


def iter_late_masks(text: SourceText) -> Iterator[LateMask]:
    """Yield the masks of a text that are made of the length of a padded list."""
    for node in text.nodes:
        body = getattr(node, "body", None)
        for at, padding in enumerate(body if isinstance(body, list) else ()):
            filled = _get_filled(padding)
            if filled is None or body is None:
                continue
            tokens, value = filled
            for statement in body[at + 1 :]:
                if isinstance(statement, ast.Assign) and _is_full(statement, tokens):
                    yield LateMask(statement, padding, value, tokens)
                    break
                is_set = tokens in collect_names(statement, ast.Store)
                if is_set and not _is_cut(statement, tokens):
                    break


def _get_filled(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """Return the name of the list that a statement fills up to a length, and with what:
    `while len(ids) < n: ids.append(0)`, `ids += [0] * (n - len(ids))`.
    """
    name, value = "", None
    if isinstance(statement, ast.While) and len(statement.body) == 1:
        inner = statement.body[0]
        call = inner.value if isinstance(inner, ast.Expr) else None
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and get_called_name(call) == "append":
            name = get_last_name(owner) if isinstance(owner, ast.Name) else ""
            value = call.args[0] if len(call.args) == 1 else None
        test = statement.test
        is_short = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Lt)
        if not is_short or f"len({name})" not in ast.unparse(test):
            return None
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        name = get_last_name(statement.target)
        value = _get_repeated(statement.value, name)
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        name = get_last_name(statement.targets[0])
        if get_last_name(statement.value.left) == name:
            value = _get_repeated(statement.value.right, name)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        owner = get_receiver(call)
        if get_called_name(call) == "extend" and isinstance(owner, ast.Name):
            name, value = owner.id, _get_repeated(call.args[0], owner.id)
    if value is None or not name:
        return None
    is_padding = isinstance(value, ast.Constant | ast.UnaryOp)
    return (name, value) if is_padding or "pad" in ast.unparse(value).lower() else None


def _get_repeated(node: ast.expr, tokens: str) -> ast.expr | None:
    """Return `0` of `[0] * (n - len(ids))`, or None."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    if f"len({tokens})" not in ast.unparse(node):
        return None
    lists = [side for side in (node.left, node.right) if isinstance(side, ast.List)]
    return lists[0].elts[0] if lists and len(lists[0].elts) == 1 else None


def _get_mask(statement: ast.Assign) -> ast.expr:
    """Return the mask that a statement sets, or writes to."""
    target = statement.targets[0]
    return target.value if isinstance(target, ast.Subscript) else target


def _is_full(statement: ast.Assign, tokens: str) -> bool:
    """Return whether a statement sets as many ones of a mask as a list is long."""
    target, value = statement.targets[0], statement.value
    if "mask" not in get_last_name(_get_mask(statement)).lower():
        return False
    length = f"len({tokens})"
    if isinstance(target, ast.Subscript):
        rows = target.slice
        is_first = isinstance(rows, ast.Slice) and rows.lower is None
        is_one = isinstance(value, ast.Constant) and value.value == 1
        upper = rows.upper if isinstance(rows, ast.Slice) else None
        return (
            is_first and is_one and upper is not None and ast.unparse(upper) == length
        )
    if isinstance(value, ast.Call) and get_called_name(value) in ONES and value.args:
        return ast.unparse(value.args[0]) == length
    return ast.unparse(value) in (f"[1] * {length}", f"{length} * [1]")


def _is_cut(statement: ast.stmt, tokens: str) -> bool:
    """Return whether a statement cuts a list to its first places: `ids = ids[:n]`."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    rows = value.slice if isinstance(value, ast.Subscript) else None
    is_first = isinstance(rows, ast.Slice) and rows.lower is None
    return (
        is_first
        and isinstance(value, ast.Subscript)
        and get_last_name(value.value) == tokens
    )
