"""Find metrics of scikit-learn that get the predictions where the labels belong, curves
that get decisions where scores belong, and scores that are refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.metric_scores import (
    OF_CLASSES,
    PROBABILITIES,
    collect_modules,
    describe_refused_scores,
)
from shapewright.findings.codes import METRIC_ARGUMENTS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

ORDERED = frozenset({
    "precision_score", "recall_score", "precision_recall_fscore_support",
    "classification_report", "confusion_matrix", "fbeta_score", "r2_score",
    "roc_auc_score", "average_precision_score", "log_loss", "roc_curve",
    "balanced_accuracy_score", "precision_recall_curve", "explained_variance_score",
    "mean_absolute_percentage_error",
})  # fmt: skip
"""Metrics of which the labels come first, and that are others the other way round."""
OF_SCORES = frozenset({
    "roc_auc_score", "average_precision_score", "roc_curve", "precision_recall_curve",
})  # fmt: skip
"""Metrics of the order of scores."""
DECIDING = frozenset({"argmax", "round", "predict"})
SCORING = DECIDING | {"sigmoid", "softmax", "predict_proba", "decision_function"}
LABELS = re.compile(
    r"(y|t|gt|labels?|targets?|truths?|ground_truths?)(_?(b|batch|true|test|val|valid))?"
    r"|(batch|b|true|test|val)_(y|labels?|targets?)|y[bt]"
)
MOST = 3
"""Names that are followed to what they were set to."""


@looks_for(METRIC_ARGUMENTS)
def find_metric_arguments(scene: RehearsalContext) -> Iterator[Finding]:
    """Find metrics whose two arguments are exchanged, and curves of decisions."""
    for text in scene.program.own_texts():
        for call in text.nodes:
            name = get_called_name(call)
            if not isinstance(call, ast.Call) or name not in ORDERED | OF_CLASSES:
                continue
            if len(call.args) < 2 or not _has_labels_first(text, name):
                continue
            first, second = (list(_iter_sources(text, arg)) for arg in call.args[:2])
            modules = collect_modules(text)
            scores = list(_iter_sources(text, call.args[1], modules | PROBABILITIES))
            refused = describe_refused_scores(text, call, scores, modules)
            if refused is not None:
                yield build_finding(
                    METRIC_ARGUMENTS,
                    refused[0],
                    text.span(call),
                    (text.span(refused[1]), "the scores are made here"),
                )
            if name not in ORDERED:
                continue
            first_text, second_text = (
                text.line_of(argument) for argument in call.args[:2]
            )
            if _is_exchanged(first, second):
                yield build_finding(
                    METRIC_ARGUMENTS,
                    f"`{name}` takes the labels first: `{first_text}` holds"
                    f" predictions, and `{second_text}` the labels",
                    text.span(call),
                    (
                        text.span(_find_predicted(first)),
                        "predictions are collected here",
                    ),
                )
            elif name in OF_SCORES and (place := _find_decision(second)) is not None:
                yield build_finding(
                    METRIC_ARGUMENTS,
                    f"`{name}` is of the order of scores, and `{second_text}` holds"
                    " decisions, of which all that are alike count as equal",
                    text.span(call),
                    (text.span(place), "the scores are decided here"),
                )


def _has_labels_first(text: SourceText, name: str) -> bool:
    """Return whether a metric is scikit-learn's, or the program's own in its manner."""
    own = [function for _, function in text.functions(name)]
    if not own:
        return "sklearn" in text.text
    first = own[0].args.args[:1]
    return bool(first) and LABELS.fullmatch(first[0].arg) is not None


def _iter_sources(
    text: SourceText,
    node: ast.expr,
    ends: Collection[str] = (),
    depth: int = 0,
) -> Iterator[ast.expr]:
    """Yield an expression, and what its name was set to, extended by and appended, in
    the function or the file; of calls by the names of `ends` no arguments are followed.
    """
    yield node
    base = node
    while isinstance(base, ast.Call | ast.Attribute):
        called = base.func if isinstance(base, ast.Call) else None
        if {get_called_name(base), get_dotted_name(called)} & {*ends}:
            return
        inner = base.func if isinstance(base, ast.Call) else base.value
        is_outer = isinstance(base, ast.Call) and isinstance(inner, ast.Name)
        base = base.args[0] if is_outer and base.args else inner  # type: ignore[union-attr]
    name = base.id if isinstance(base, ast.Name) else ""
    if not name or depth == MOST:
        return
    scope = text.around(node, *FUNCTIONS) or text.tree
    values = [
        value
        for target, value in iter_assignments(scope, unpacked=True)
        if get_dotted_name(target) == name
    ]
    for part in ast.walk(scope) if scope is not None else ():
        if isinstance(part, ast.AugAssign) and get_dotted_name(part.target) == name:
            values.append(part.value)
        elif get_called_name(part) in ("append", "extend"):
            assert isinstance(part, ast.Call)
            owner = get_receiver(part)
            if owner is not None and get_dotted_name(owner) == name:
                values += part.args[:1]
    for value in values:
        if value.lineno <= node.lineno and value is not node:
            yield from _iter_sources(text, value, ends, depth + 1)


def _is_exchanged(first: list[ast.expr], second: list[ast.expr]) -> bool:
    """Return whether predictions are first and labels second; what a threshold makes of
    the data may be labels, where the first are the classes of a model.
    """
    if not _is_predicted(first) or not _is_label(second):
        return False
    is_scored = any(_has_scores(source) for source in first)
    if is_scored and _is_label(second[:1]) and not _is_label(first[:1]):
        return not any(_has_scores(source) for source in second)
    return not _is_predicted(second)


def _has_scores(source: ast.expr) -> bool:
    """Return whether an expression makes or decides the scores of a model."""
    return any(get_called_name(part) in SCORING for part in ast.walk(source))


def _is_predicted(sources: list[ast.expr]) -> bool:
    """Return whether values come from scores of a model."""
    return any(
        get_called_name(part) in SCORING or _is_threshold(part)
        for source in sources
        for part in ast.walk(source)
    )


def _find_predicted(sources: list[ast.expr]) -> ast.expr:
    """Return the last of the values that come from scores of a model."""
    return [source for source in sources if _is_predicted([source])][-1]


def _is_threshold(node: ast.AST) -> bool:
    """Return whether an expression compares scores with a number: `scores > 0.5`."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return False
    is_number = isinstance(node.comparators[0], ast.Constant)
    return is_number and isinstance(node.ops[0], ast.Gt | ast.GtE)


def _is_label(sources: list[ast.expr]) -> bool:
    """Return whether values are named as labels are."""
    return any(
        isinstance(part, ast.Name) and LABELS.fullmatch(part.id) is not None
        for source in sources
        for part in ast.walk(source)
    )


def _find_decision(sources: list[ast.expr]) -> ast.expr | None:
    """Return the expression that decides scores, if no labels are compared there."""
    for source in sources:
        if _is_label([source]):
            continue
        for part in ast.walk(source):
            if get_called_name(part) in DECIDING or _is_threshold(part):
                assert isinstance(part, ast.expr)
                return part
    return None
