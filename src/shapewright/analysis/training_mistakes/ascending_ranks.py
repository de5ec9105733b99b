"""Find recommendations that are the smallest scores: `argsort(scores)[:10]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import METRIC_DIRECTION
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name, get_last_name

SCORES = re.compile(r"score|logit|prob|sim(ilarit|s|$|_)|rating|relevan", re.I)
DISTANCES = re.compile(r"dist|loss|error|cost|rank", re.I)
BEST = re.compile(r"top|best|recommend|hits?$|rank(ed|ing|list)|retriev", re.I)


def find_ascending_ranks(scene: RehearsalContext) -> Iterator[Finding]:
    """Find the first places of an ascending order of scores, named as the best."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Subscript):
                continue
            scores = _get_sorted(node.value)
            if scores is None or not _is_start(node.slice):
                continue
            words = text.written(scores)
            statement = text.around(node, ast.Assign)
            names = " ".join(map(text.written, statement.targets)) if statement else ""
            if not SCORES.search(words) or DISTANCES.search(words):
                continue
            if not BEST.search(names):
                continue
            yield build_finding(
                METRIC_DIRECTION,
                f"`{text.written(node)}` are the smallest of `{words}`: the order is"
                f" ascending, and `{names}` is to hold the largest",
                text.span(node),
            )


def _get_sorted(node: ast.expr) -> ast.expr | None:
    """Return what is put into ascending order by `argsort`, or None."""
    if not isinstance(node, ast.Call) or get_called_name(node) != "argsort":
        return None
    if any(word.arg in ("descending", "axis", "dim") for word in node.keywords):
        return None
    owner = get_receiver(node)
    is_function = owner is not None and get_last_name(owner) in ("torch", "np", "numpy")
    if not is_function:
        return owner if not node.args else None
    if len(node.args) != 1 or isinstance(node.args[0], ast.UnaryOp):
        return None
    return node.args[0]


def _is_start(index: ast.expr) -> bool:
    """Return whether an index takes the first places."""
    return (
        isinstance(index, ast.Slice)
        and index.lower is None
        and index.step is None
        and index.upper is not None
        and not isinstance(index.upper, ast.UnaryOp)
    )


def suggest_descending_order(text: SourceText, node: ast.Subscript) -> str:
    """Return the words of a call with the largest in front."""
    scores = _get_sorted(node.value)
    if scores is None or not isinstance(node.value, ast.Call):
        return ""
    owner = get_receiver(node.value)
    if owner is not None and get_last_name(owner) in ("np", "numpy"):
        return f"{text.written(owner)}.argsort(-{text.written(scores)})"
    if scores is owner:
        return f"{text.written(owner)}.argsort(descending=True)"
    written = text.written(node.value)
    return f"{written[:-1]}, descending=True)"
