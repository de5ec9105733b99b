"""Find counts of batches to which each batch adds its own number: 0 + 1 + 2 ..."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.additions import iter_divisions
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import MEAN_OVER_SAMPLES
from shapewright.findings.finding import Finding
from shapewright.program.syntax_nodes import LOOPS, collect_names, get_called_name


def find_summed_indices(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `n += i` in a loop over `enumerate(loader)`, where `n` divides a sum."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
                continue
            loop = text.around(node, *LOOPS)
            if not isinstance(loop, ast.For) or not isinstance(node.value, ast.Name):
                continue
            if get_called_name(loop.iter) != "enumerate":
                continue
            target = loop.target
            first = target.elts[0] if isinstance(target, ast.Tuple) else None
            if not isinstance(first, ast.Name) or first.id != node.value.id:
                continue
            name = ast.unparse(node.target)
            if not isinstance(node.target, ast.Name):
                continue
            for place, _, divisor in iter_divisions(text, loop):
                if name not in collect_names(divisor, ast.Load):
                    continue
                yield build_finding(
                    MEAN_OVER_SAMPLES,
                    f"`{text.line_of(node)}` adds the number of each batch, 0 + 1 + 2"
                    f" ...: `{name}` is no count of them, and a sum over all batches is"
                    " divided by it",
                    text.span(node),
                    (text.span(place), "the division"),
                )
                break
