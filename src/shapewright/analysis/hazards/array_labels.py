"""Find the largest of NumPy scores, not their places, that are compared with labels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import COMPARED_SCORES
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import collect_names, get_called_name

LARGEST = frozenset({"max", "amax"})
LABELS = ("label", "truth", "true", "target", "class", "gold", "kind")
"""Parts of names of arrays of classes; `y` and the like are names of their own."""


def find_compared_maxima(program: Program) -> Iterator[Finding]:
    """Find `np.max(scores, axis=1) == labels`, where `argmax` is meant."""
    for text in program.own_texts():
        seen: set[ast.expr] = set()
        for node in text.nodes:
            if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq):
                continue
            sides = [node.left, *node.comparators[:1]]
            for side, other in (sides, sides[::-1]):
                largest = _find_largest(text, side)
                if largest is None or largest in seen:
                    continue
                if _is_label(largest) or not _is_label(other):
                    continue
                if collect_names(largest) & collect_names(other):
                    continue  # where the largest stands
                seen.add(largest)
                yield Finding(
                    COMPARED_SCORES,
                    "warning",
                    f"`{text.line_of(side)}` holds the largest scores, not their"
                    f" places, and `{text.line_of(other)}` holds classes: they are"
                    " never equal",
                    text.span(largest),
                    related=(Related(text.span(node), "they are compared here"),),
                )


def _find_largest(text: SourceText, node: ast.expr) -> ast.Call | None:
    """Return the call that takes the largest of each row of an array, or None."""
    while isinstance(node, ast.Subscript):
        node = node.value
    values = [node]
    if isinstance(node, ast.Name):
        values = [*find_defining(text, node.id)]
    calls = [
        value
        for value in values
        if isinstance(value, ast.Call)
        and get_called_name(value) in LARGEST
        and any(word.arg == "axis" for word in value.keywords)
        and not any(word.arg == "keepdims" for word in value.keywords)
    ]
    return calls[0] if calls and len(calls) == len(values) else None


def _is_label(node: ast.expr) -> bool:
    """Return whether an expression is named as classes are."""
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    names += [part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)]
    return any(
        name.lower() in ("y", "ys") or name.lower().startswith("y_")
        or any(word in name.lower() for word in LABELS)
        for name in names
    )  # fmt: skip
