"""Find models that a cross validation goes on training from fold to fold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import MODEL_KEPT_OVER_FOLDS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import collect_names, get_called_name

FOLDS = re.compile(r"fold|\bkf\b|skf|cross_val", re.I)
RESETTING = ("load_state_dict", "reset_parameters", "apply", "deepcopy")
"""Calls in a loop that give a model its first weights again."""


@looks_for(MODEL_KEPT_OVER_FOLDS)
def find_kept_models(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops over folds that build optimizers of one model again and again."""
    seen: set[object] = set()
    for optimizer in scene.training.optimizers:
        text = scene.program.text(optimizer.built[0])
        if text is None or not optimizer.is_twin or optimizer.built in seen:
            continue
        seen.add(optimizer.built)
        for node in text.near(optimizer.built[1]):
            loop = _find_fold_loop(text, node)
            built = _find_model(text, node, loop) if loop is not None else None
            if loop is None or built is None:
                continue
            name = text.line_of(built.targets[0])
            yield build_finding(
                MODEL_KEPT_OVER_FOLDS,
                f"`{name}` is built once, before the loop over folds: each fold goes on"
                " with weights that have seen its validation samples",
                text.span(built),
                (text.span(loop.iter), "the folds are gone through here"),
                (text.span(node), "an optimizer of the same weights is built here"),
            )
            break


def _find_fold_loop(text: SourceText, node: ast.AST) -> ast.For | None:
    """Return the loop over folds around a node, if nothing in it resets a model."""
    loop = text.around(node, ast.For)
    while loop is not None:
        words = f"{text.written(loop.target)} {text.written(loop.iter)}"
        if FOLDS.search(words):
            calls = {get_called_name(part) for part in ast.walk(loop)}
            return None if calls & set(RESETTING) else loop
        loop = text.around(text.parent(loop), ast.For)
    return None


def _find_model(text: SourceText, node: ast.AST, loop: ast.For) -> ast.Assign | None:
    """Return the statement above a loop that builds the model of an optimizer."""
    names = collect_names(node)
    inside = set(ast.walk(loop))
    for statement in reversed(text.nodes):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or target.id not in names:
            continue
        if statement in inside:
            return None
        is_above = statement.lineno < loop.lineno
        if is_above and isinstance(statement.value, ast.Call):
            return statement
    return None
