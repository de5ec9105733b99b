"""Find NumPy arrays of results, (n, 1), that meet n labels, (n,)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import ARRAYS_BROADCAST, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span

PAIRING = (ast.Sub, ast.Add, ast.Mult, ast.Div, ast.BitAnd)


@looks_for(ARRAYS_BROADCAST)
def find_paired_arrays(scene: RehearsalContext) -> Iterator[Finding]:
    """Find lines where each of n results meets each of n numbers."""
    seen: set[object] = set()
    for met in scene.observations("arrays"):
        text = scene.program.text(met.place[0])
        if text is None or met.place in seen:
            continue
        seen.add(met.place)
        pairs = find_pairs(text, met.place[1])
        side, _, size = met.name.partition(" ")
        shapes = [f"({size}, 1)", f"({size},)"]
        if side == "right":
            shapes.reverse()
        if len(pairs) == 1:
            (node,) = pairs
            left, right = get_sides(node)
            names = [text.line_of(left), text.line_of(right)]
            what = f"`{names[0]}` {shapes[0]} and `{names[1]}` {shapes[1]}"
            span: Span | None = text.span(node)
        else:
            what = f"arrays {shapes[0]} and {shapes[1]}"
            near = text.near(met.place[1])
            span = text.span(near[0]) if near else None
        message = (
            f"NumPy makes ({size}, {size}) of {what}: each of the {size} results meets"
            " every label"
        )
        if span is not None:
            yield build_finding(ARRAYS_BROADCAST, message, span)


def find_pairs(text: SourceText, line: int) -> list[ast.BinOp | ast.Compare]:
    """Return the expressions of a line that take two arrays element by element."""
    return [
        node
        for statement in text.near(line)[:1]
        for node in ast.walk(statement)
        if (isinstance(node, ast.BinOp) and isinstance(node.op, PAIRING))
        or (isinstance(node, ast.Compare) and len(node.ops) == 1)
        if not any(isinstance(side, ast.Constant) for side in get_sides(node))
    ]


def get_sides(node: ast.BinOp | ast.Compare) -> tuple[ast.expr, ast.expr]:
    """Return both sides of an expression."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    return node.left, node.comparators[0]
