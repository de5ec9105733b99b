"""Find indices among filtered rows, such as those that `nms` keeps, which take rows of
all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import FILTERED_INDEX, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
)

ALONE = operators_with("finds_nonzero", "returns_indices") | {"argsort", "flatnonzero"}
"""Functions that return the places of elements."""
PAIRS = operators_with("sorts_elements") - {"argsort"}
"""Functions that return elements, and their places."""
SHAPING = operators_with("is_view", "regroups_dims") | {"tolist", "cpu"}
STEPS = 3


@dataclass(frozen=True, slots=True)
class _FilteredIndex:
    """An index among rows that a mask has kept, and where it takes all rows."""

    call: ast.Call
    mask: ast.expr
    uses: list[ast.Subscript]


@looks_for(FILTERED_INDEX)
def find_filtered_indices(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `boxes[keep]` of a `keep` that counts the rows of `boxes[mask]`."""
    for text in scene.program.own_texts():
        for index in iter_filtered_indices(text):
            use, mask = index.uses[0], text.line_of(index.mask)
            name = text.line_of(use.slice)
            owner = text.line_of(use.value)
            others = [(text.span(other), "and here") for other in index.uses[1:3]]
            yield build_finding(
                FILTERED_INDEX,
                f"`{name}` counts the rows of `{owner}[{mask}]`, and takes rows of all"
                f" `{owner}`: other rows than were chosen",
                text.span(use),
                (text.span(index.call), f"`{name}` is chosen among filtered rows here"),
                *others,
            )


def iter_filtered_indices(text: SourceText) -> Iterator[_FilteredIndex]:
    """Yield the indices among filtered rows that take rows of what was not filtered."""
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        choice = _get_choice(node)
        if choice is None:
            continue
        name, call, arguments = choice
        filters = [_find_filter(text, part) for part in arguments]
        known = [pair for pair in filters if pair is not None]
        if not known or len(known) != len(filters):
            continue
        mask = known[0][1]
        written = text.line_of(mask)
        if any(text.line_of(other) != written for _, other in known):
            continue
        scope = text.around(node, *FUNCTIONS)
        owners = _list_filtered(text, scope, written)
        uses = [
            use
            for use in text.nodes
            if isinstance(use, ast.Subscript)
            and use.lineno > node.lineno
            and isinstance(use.slice, ast.Name)
            and use.slice.id == name
            and get_dotted_name(use.value) in owners
            and text.around(use, *FUNCTIONS) is scope
            and _is_unchanged(text, use.value, node, use)
            and find_last_value(text, use.slice, use.lineno) is node.value
        ]
        if uses and _is_unchanged(text, mask, node, uses[-1]):
            yield _FilteredIndex(call, mask, sorted(uses, key=lambda use: use.lineno))


def _get_choice(node: ast.Assign) -> tuple[str, ast.Call, list[ast.expr]] | None:
    """Return the name of an index, the call that chooses, and the tensors among whose
    rows it does.
    """
    target, value = node.targets[0], node.value
    is_pair = isinstance(target, ast.Tuple) and len(target.elts) == 2
    name = target.elts[1] if isinstance(target, ast.Tuple) and is_pair else target
    if not isinstance(name, ast.Name):
        return None
    takes_places = is_pair
    for _ in range(STEPS):
        if isinstance(value, ast.Attribute) and value.attr == "indices":
            value, takes_places = value.value, True
        elif isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            takes_places = value.slice.value == 1
            value = value.value
        elif get_called_name(value) in SHAPING and isinstance(value, ast.Call):
            if not isinstance(value.func, ast.Attribute):
                break
            value = value.func.value
    called = get_called_name(value)
    if not isinstance(value, ast.Call):
        return None
    if "nms" in called.lower() and not is_pair:
        return name.id, value, list(value.args[:2])
    is_single = called in ALONE and not is_pair
    if not is_single and not (called in PAIRS and takes_places):
        return None
    owner = value.func.value if isinstance(value.func, ast.Attribute) else None
    is_function = owner is None or get_dotted_name(owner) in ("torch", "np", "numpy")
    tensors = value.args[:1] if is_function or owner is None else [owner]
    return name.id, value, list(tensors)


def _find_filter(text: SourceText, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the tensor and the mask of `boxes[mask]`, or of a name for it."""
    if isinstance(node, ast.Name):
        value = find_last_value(text, node, node.lineno)
        if value is None or not isinstance(value, ast.Subscript):
            return None
        if get_dotted_name(value.value) == node.id:
            return None  # the name itself is that of the filtered rows now
        node = value
    if not isinstance(node, ast.Subscript) or not get_dotted_name(node.value):
        return None
    mask = node.slice
    if isinstance(mask, ast.Tuple) and mask.elts:
        mask = mask.elts[0]
    return (node.value, mask) if _is_mask(text, mask) else None


def _is_mask(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression compares, or is a name for a comparison."""
    for _ in range(STEPS):
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            node = node.left
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.Name):
            value = find_last_value(text, node, node.lineno)
            if value is None:
                return False
            node = value
        else:
            return False
    return False


def _list_filtered(text: SourceText, scope: ast.AST | None, mask: str) -> set[str]:
    """Return the names of the tensors that a function filters by a mask."""
    names = set()
    for node in text.nodes:
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        first = node.slice
        if isinstance(first, ast.Tuple) and first.elts:
            first = first.elts[0]
        if text.line_of(first) == mask and text.around(node, *FUNCTIONS) is scope:
            names.add(get_dotted_name(node.value))
    return names - {""}


def _is_unchanged(
    text: SourceText, node: ast.expr, start: ast.stmt, end: ast.expr
) -> bool:
    """Return whether the names of an expression have the same values at two places."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return all(
        find_last_value(text, name, end.lineno)
        is find_last_value(text, name, start.lineno)
        for name in names
    )
