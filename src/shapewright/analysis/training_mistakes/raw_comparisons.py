"""Find predictions of scaled targets that are compared with targets as they were."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.findings.codes import UNEQUAL_TRANSFORMS
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    iter_assignments,
)

TARGETS = re.compile(r"^y|target|label", re.IGNORECASE)
PREDICTED = re.compile(r"pred|y_?hat|output|forecast", re.IGNORECASE)
METRICS = re.compile(r"(mean_\w+_error|r2_score|rmse|mse_loss|l1_loss|mae|mse)$")
KEPT = ("inverse_transform", "scale_", "mean_", "data_max_", "data_min_")


def find_raw_comparisons(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `rmse(pred, y_test)` where the training had `scaler.transform(y_train)`."""
    texts = list(scene.program.own_texts())
    if any(word in text.text for text in texts for word in KEPT):
        return
    for text in texts:
        scaled = _find_scaled_targets(text)
        if scaled is None:
            continue
        for node in text.nodes:
            pair = _get_compared(node)
            if pair is None:
                continue
            names = [get_last_name(part) for part in pair]
            raw = [n for n in names if TARGETS.search(n) and EVALUATED.search(n)]
            if len(raw) != 1 or not any(map(PREDICTED.search, names)):
                continue
            if _is_scaled(text, raw[0]) or not isinstance(node, ast.expr):
                continue
            other = next(name for name in names if name != raw[0])
            yield build_finding(
                UNEQUAL_TRANSFORMS,
                f"`{raw[0]}` is as it was, and `{other}` predicts targets that"
                f" `{text.written(scaled.func)}` has scaled: nothing scales the"
                " predictions back",
                text.span(node),
                (text.span(scaled), "the targets of the training are scaled here"),
            )
            return


def _find_scaled_targets(text: SourceText) -> ast.Call | None:
    """Return the call of a scaler that transforms the targets of a training."""
    for node in text.nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if get_called_name(node) not in ("transform", "fit_transform"):
            continue
        name = get_last_name(node.args[0])
        owner = get_receiver(node)
        is_scaler = owner is not None and re.search(
            r"scal|^s?y|norm|^s[cy]", get_last_name(owner), re.IGNORECASE
        )
        if is_scaler and TARGETS.search(name) and TRAINED.search(name):
            return node
    return None


def _is_scaled(text: SourceText, name: str) -> bool:
    """Return whether a name gets transformed values anywhere."""
    return any(
        get_last_name(target) == name
        and any(get_called_name(part) == "transform" for part in ast.walk(value))
        for target, value in iter_assignments(text.tree, unpacked=True)
    )


def _get_compared(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of a difference or of a metric."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.left, node.right
    is_metric = isinstance(node, ast.Call) and METRICS.search(get_called_name(node))
    if is_metric and isinstance(node, ast.Call) and len(node.args) >= 2:
        return node.args[0], node.args[1]
    return None
