"""Find accuracies of a batch that compare only its first sample: `guesses[0]` with
`labels[0]`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ONE_SAMPLE
from shapewright.findings.finding import Finding, Related
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_dotted_name,
)

OF_RESULTS = re.compile(r"acc|correct|hits?\b|right\b", re.IGNORECASE)
"""Names of a number of right answers, or of their share."""
NUMBERS = frozenset({"item", "float", "int", "long", "double", "bool", "detach", "cpu"})
"""Methods and functions that leave the value of one element as it is."""
ITEM_STEPS = 4
"""Names and methods on the way from a number to the element that it is."""


@dataclass(frozen=True)
class _FirstSample:
    """A comparison of the first elements of two tensors."""

    text: SourceText
    statement: ast.stmt
    value: ast.expr  # what is kept, with the comparison in it
    first: ast.Subscript
    second: ast.Subscript
    count: int


def find_first_samples(program: Program) -> Iterator[Finding]:
    """Find results of a batch of several samples that are those of its first one."""
    for place in iter_first_samples(program):
        text = place.text
        names = [text.written(part.value) for part in (place.first, place.second)]
        yield Finding(
            ONE_SAMPLE,
            "warning",
            f"this compares the first of {place.count} samples alone, `{names[0]}[0]`"
            f" with `{names[1]}[0]`: the others of the batch are not counted",
            text.span(place.value),
            related=tuple(
                Related(text.span(part), "the first sample is taken here")
                for part in (place.first, place.second)
                if part.lineno != place.value.lineno
            ),
        )


def iter_first_samples(program: Program) -> Iterator[_FirstSample]:
    """Yield the comparisons of first samples that a loop keeps as its result."""
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Compare) or len(node.ops) != 1:
                continue
            loop = text.around(node, *LOOPS)
            kept = _find_kept(text, node)
            if kept is None or loop is None or not isinstance(node.ops[0], ast.Eq):
                continue
            first = _find_element(text, node.left)
            second = _find_element(text, node.comparators[0])
            if first is None or second is None:
                continue
            scope = text.around(node, *FUNCTIONS)
            counts = {_count_elements(program, text, part) for part in (first, second)}
            count = counts.pop()
            if counts or count is None or count < len(("one", "other")):
                continue
            if scope is not text.around(first, *FUNCTIONS):
                continue
            whole = [text.written(part.value) for part in (first, second)]
            if not _is_compared_whole(text, loop, whole):
                statement, value = kept
                yield _FirstSample(text, statement, value, first, second, count)


def _find_kept(text: SourceText, node: ast.Compare) -> tuple[ast.stmt, ast.expr] | None:
    """Return the statement that gives a comparison to the name of a result, with its
    value: `accuracy = float(guess == truth)`.
    """
    value: ast.expr = node
    parent = text.parent(value)
    while isinstance(parent, ast.Call | ast.Attribute):
        name = get_called_name(parent) if isinstance(parent, ast.Call) else parent.attr
        if name not in NUMBERS:
            return None
        value, parent = parent, text.parent(parent)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
    elif isinstance(parent, ast.AugAssign) and isinstance(parent.op, ast.Add):
        target = parent.target
    else:
        return None
    is_result = OF_RESULTS.search(get_dotted_name(target).rpartition(".")[2])
    return (parent, value) if is_result else None


def _find_element(text: SourceText, node: ast.expr) -> ast.Subscript | None:
    """Return `labels[0]` for `labels[0].item()`, also through a name."""
    for _ in range(ITEM_STEPS):
        if isinstance(node, ast.Subscript):
            index = node.slice
            is_first = isinstance(index, ast.Constant) and index.value == 0
            named = get_dotted_name(node.value)
            return node if is_first and named and type(index.value) is int else None  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and get_called_name(node) in NUMBERS:
            inner = get_receiver(node) or (node.args[0] if node.args else None)
        elif isinstance(node, ast.Name):
            inner = find_last_value(text, node, node.lineno)
        else:
            return None
        if inner is None:
            return None
        node = inner
    return None


def _count_elements(
    program: Program, text: SourceText, node: ast.Subscript
) -> int | None:
    """Return how many elements a row has of which an index takes one, or None."""
    ops = [op for op in program.trace.ops if op.span == text.span(node) and op.inputs]
    shapes = {op.inputs[0].shape for op in ops}
    if not shapes or any(len(shape) != 1 for shape in shapes):
        return None
    return max(shape[0] for shape in shapes)


def _is_compared_whole(text: SourceText, loop: ast.AST, names: list[str]) -> bool:
    """Return whether a loop also compares two whole tensors, or counts them all."""
    for node in ast.walk(loop):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call):
            owner = get_receiver(node)
            sides = [*([owner] if owner is not None else []), *node.args]
        written = {text.written(side) for side in sides}
        if set(names) <= written:
            return True
    return False
