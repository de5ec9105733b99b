"""Find masks of what is allowed that hide it: `scores.masked_fill(legal, -inf)` where
`legal` is true for what may be chosen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.causal_masks import FILLS, HIDES
from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_last_name

ALLOWED = re.compile(r"(?:^|_)(legal|valid|allowed|available|avail|feasible)(?:_|s?$)")
"""Names of masks that are true for what may be chosen."""
FORBIDDEN = re.compile(r"(?:^|_)(not?|un|in|il|dis|non|mask_out|pad(ding)?)(?:_|$)")
KEEPING = operators_with("keeps_mask")
"""Methods behind which a mask is the same."""


def find_hidden_choices(scene: HazardContext) -> Iterator[Finding]:
    """Find scores that are filled with `-inf` where a mask of legal choices is true."""
    seen: set[object] = set()
    for call in scene.calls:
        value = call.given(2, "value")
        is_hiding = isinstance(value, int | float) and value <= HIDES
        if call.name not in FILLS or not is_hiding or call.op.span in seen:
            continue
        place = scene.program.call_at(call.op.span)
        mask = find_written_mask(*place) if place is not None else None
        if place is None or mask is None or not scene.in_user_code(call.op):
            continue
        name = _get_name(mask)
        is_choice = ALLOWED.search(name) and not FORBIDDEN.search(name)
        if is_choice and not any(
            _is_turned(text, name) for text in scene.program.own_texts()
        ):
            seen.add(call.op.span)
            message = (
                f"`{name}` is true for what may be chosen, and `{call.name}` hides"
                " what is true: the others are left"
            )
            yield scene.finding(MASK_AXIS, call.op, message)


def find_written_mask(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the mask in a call of `masked_fill`, of the method or the function."""
    if get_called_name(call) not in FILLS:
        return None
    words = [word.value for word in call.keywords if word.arg == "mask"]
    is_function = text.written(call.func).startswith("torch.")
    masks = call.args[1:2] if is_function else call.args[:1]
    return next(iter([*words, *masks]), None)


def _get_name(node: ast.expr) -> str:
    """Return the name of a mask behind casts and new dims; empty for an expression."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in KEEPING:
                return ""
            node = node.func.value
        else:
            return get_last_name(node)


def _is_turned(text: SourceText, name: str) -> bool:
    """Return whether a file turns a mask of this name round anywhere: what is handed on
    by the name may be the other.
    """
    for node in text.nodes:
        turned: ast.expr | None = None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
            turned = node.operand
        elif isinstance(node, ast.Call) and get_called_name(node) == "logical_not":
            turned = node.args[0] if node.args else getattr(node.func, "value", None)
        elif isinstance(node, ast.Compare):
            turned = node.left
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            turned = node.right
        if turned is not None and _get_name(turned) == name:
            return True
    return False
