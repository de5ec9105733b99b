"""Find seeds that are set anew in each epoch, so that all draw the same numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SEED_REPEATED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import LOOPS, get_called_name

DRAWS = operators_with("is_random")
DEEPEST = 3
"""Functions within functions that are looked into for a backward pass."""


@looks_for(SEED_REPEATED)
def find_repeated_seeds(scene: RehearsalContext) -> Iterator[Finding]:
    """Find seeds of a training that are set again between its steps."""
    for met in scene.observations("seed-repeated"):
        text = scene.program.text(met.place[0])
        for node in text.near(met.place[1]) if text is not None else ():
            if get_called_name(node) != "manual_seed" or text is None:
                continue
            assert isinstance(node, ast.Call)
            around = text.around(node, *LOOPS, ast.FunctionDef)
            if around is None or not _has_pass_behind(text, around, node):
                continue
            drawn = _find_draw(scene)
            if not drawn:
                continue
            yield build_finding(
                SEED_REPEATED,
                f"the seed is set to {met.name} again in each epoch: all epochs draw"
                f" the same {drawn}",
                text.span(node),
            )
            break


def _has_pass_behind(text: SourceText, around: ast.AST, call: ast.Call) -> bool:
    """Return whether a backward pass follows a call in its loop or its function."""
    last = call.end_lineno or call.lineno
    calls = [
        node
        for node in ast.walk(around)
        if isinstance(node, ast.Call) and node.lineno > last
    ]
    return any(_has_pass(text, node, 0) for node in calls)


def _has_pass(text: SourceText, call: ast.Call, depth: int) -> bool:
    """Return whether a call is a backward pass, or its function has one."""
    name = get_called_name(call)
    if name == "backward":
        return True
    if depth == DEEPEST or not name:
        return False
    return any(
        _has_pass(text, inner, depth + 1)
        for _, function in text.functions(name)
        for inner in ast.walk(function)
        if isinstance(inner, ast.Call) and get_called_name(inner) != name
    )


def _find_draw(scene: RehearsalContext) -> str:
    """Return what a training draws at random, or an empty string."""
    ops = scene.program.trace.ops
    first = next((op.index for op in ops if op.name.endswith("backward")), len(ops))
    for op in ops[first:]:
        name = op.name.rpartition(".")[2]
        if name in DRAWS:
            return "masks of dropout" if "dropout" in name else "numbers"
    if any(True for _ in scene.observations("shuffled")):
        return "order of samples"
    return ""
