"""Find parts of data for training and for evaluation that share rows: `x[:800]` and
`x[700:]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.findings.codes import COPIES_BEFORE_SPLIT
from shapewright.findings.finding import Finding
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, iter_assignments


def find_overlapping_parts(scene: RehearsalContext) -> Iterator[Finding]:
    """Find two slices of one table, by numbers, whose rows overlap."""
    for text in scene.program.own_texts():
        scopes = [text.tree, *(n for n in text.nodes if isinstance(n, FUNCTIONS))]
        for scope in scopes:
            parts = _collect_parts(text, scope)
            for owner, (value, end) in parts[0].items():
                other = parts[1].get(owner)
                if other is None or other[1] >= end:
                    continue
                yield build_finding(
                    COPIES_BEFORE_SPLIT,
                    f"`{text.written(value)}` and `{text.written(other[0])}` share the"
                    f" rows from {other[1]} to {end}: the model is evaluated on rows"
                    " that it was trained on",
                    text.span(other[0]),
                    (text.span(value), "the rows for the training"),
                )
                break


Parts = dict[str, tuple[ast.Subscript, int]]


def _collect_parts(text: SourceText, scope: ast.AST | None) -> tuple[Parts, Parts]:
    """Return the first rows of tables that have a name of a training, with their end,
    and the last rows that have one of an evaluation, with their start.
    """
    first: Parts = {}
    last: Parts = {}
    for target, value in iter_assignments(scope, unpacked=True):
        name = target.id if isinstance(target, ast.Name) else ""
        index = value.slice if isinstance(value, ast.Subscript) else None
        if isinstance(index, ast.Tuple):
            index = index.elts[0]
        if not isinstance(index, ast.Slice) or index.step is not None:
            continue
        if text.around(target, *FUNCTIONS) is not (
            scope if isinstance(scope, FUNCTIONS) else None
        ):
            continue
        assert isinstance(value, ast.Subscript)
        owner = text.written(value.value)
        if index.lower is None and index.upper is not None and TRAINED.search(name):
            end = evaluate_whole_number(index.upper)
            if end is not None and end > 0:
                first[owner] = (value, end)
        if index.upper is None and index.lower is not None and EVALUATED.search(name):
            start = evaluate_whole_number(index.lower)
            if start is not None and start > 0:
                last[owner] = (value, start)
    return first, last
