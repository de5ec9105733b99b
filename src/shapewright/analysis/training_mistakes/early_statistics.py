"""Find data that are scaled by statistics of all rows, and split afterwards: what the
model is evaluated on has a part in how its training data are scaled.

The text says it: a split takes what a scaler of scikit-learn was fitted on and gave, or
what was scaled by its own mean and deviation, in the same function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.copied_rows import is_split
from shapewright.analysis.training_mistakes.early_weights import iter_early_weights
from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.analysis.training_mistakes.scaling_functions import (
    find_scaled_column,
    is_own_scaling,
    is_scaled_in_function,
)
from shapewright.analysis.training_mistakes.split_branches import iter_branch_splits
from shapewright.findings.codes import FITTED_BEFORE_SPLIT, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_own_attribute,
    iter_assignments,
    pair_targets,
)

FITTED = re.compile(
    r"(Standard|MinMax|Robust|MaxAbs)Scaler$|(Power|Quantile)Transformer$|^PCA$"
)
"""Classes of scikit-learn whose transform depends on all rows that they were fitted
on."""
HIDING = frozenset({"len", "print", "range", "int", "unique", "arange"})
"""Calls whose result does not hold the data."""
DEEPEST = 8


@looks_for(FITTED_BEFORE_SPLIT)
def find_early_statistics(scene: RehearsalContext) -> Iterator[Finding]:
    """Find splits of data that were scaled by statistics of all of them."""
    for text in scene.program.own_texts():
        for place, scaled in (*_iter_scaled(text), *_iter_scaled_branches(text)):
            yield build_finding(
                FITTED_BEFORE_SPLIT,
                f"`{text.line_of(scaled)}` knows all rows, and they are split"
                " afterwards: the samples that the model is evaluated on have a"
                " part in the scale of those that it is trained on",
                text.span(scaled),
                (text.span(place), "the rows are split here"),
                severity="note" if _is_by_hand(text, scaled) else None,
            )
            break
        for early in iter_early_weights(text):
            yield build_finding(
                FITTED_BEFORE_SPLIT,
                f"`{text.line_of(early.statistic)}` knows all rows of"
                f" `{early.table.id}`, and `{text.line_of(early.first)}` of them are"
                " for the training: the samples that the model is evaluated on have a"
                " part in what scales it",
                text.span(early.statistic),
                (text.span(early.first), "the rows are split here"),
                severity="note",
            )
            break


def _is_by_hand(text: SourceText, scaled: ast.expr) -> bool:
    """Return whether data are scaled by numbers that the program computes itself."""
    if isinstance(scaled, ast.Call):
        return is_scaled_in_function(text, scaled)
    return isinstance(scaled, ast.BinOp)


def _iter_scaled(text: SourceText) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield where data are split that were scaled before, with the scaling."""
    for place, data in _iter_splits(text):
        scaled = next(filter(None, (_find_scaling(text, d) for d in data)), None)
        if scaled is not None:
            yield place, scaled


def _iter_scaled_branches(text: SourceText) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the first rows that a branch of a condition keeps of data that were scaled
    in front of the condition, with the scaling.
    """
    for part, condition in iter_branch_splits(text):
        line = getattr(condition, "lineno", part.lineno)
        value = find_last_value(text, part.value, line)
        if value is None or isinstance(value, ast.Subscript):
            continue
        if text.around(value, ast.If) is not text.around(condition, ast.If):
            continue
        scaled = _find_scaling(text, value, value.lineno, 1)
        if scaled is not None:
            yield part, scaled


def _iter_splits(text: SourceText) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """Yield where data are split into parts, each with the data."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and is_split(text, node):
            yield (
                node,
                node.args
                if get_called_name(node) != "random_split"
                else (node.args[:1]),
            )
        if not isinstance(node, ast.Assign):
            continue
        for target, value in pair_targets(node.targets[0], node.value):
            name = target.id if isinstance(target, ast.Name) else ""
            if EVALUATED.search(name) and _is_end(value):
                assert isinstance(value, ast.Subscript)
                if _has_training_part(text, value):
                    yield value, [value.value]


def _is_end(value: ast.expr) -> bool:
    """Return whether an expression is the rows of a table from one on."""
    index = value.slice if isinstance(value, ast.Subscript) else None
    is_rows = isinstance(index, ast.Slice) and index.lower is not None
    return is_rows and isinstance(index, ast.Slice) and index.upper is None


def _has_training_part(text: SourceText, end: ast.Subscript) -> bool:
    """Return whether the rows before these have a name of data for training."""
    whole = text.written(end.value)
    for node in text.nodes:
        pairs = (
            pair_targets(node.targets[0], node.value)
            if isinstance(node, ast.Assign)
            else []
        )
        for target, value in pairs:
            index = value.slice if isinstance(value, ast.Subscript) else None
            if not isinstance(target, ast.Name) or not TRAINED.search(target.id):
                continue
            if isinstance(index, ast.Slice) and index.lower is None:
                assert isinstance(value, ast.Subscript)
                if text.written(value.value) == whole:
                    return True
    return False


def _find_scaling(
    text: SourceText, data: ast.expr, line: int = 0, depth: int = 0
) -> ast.expr | None:
    """Return the expression by which data were scaled with statistics of their own, or
    None.
    """
    line = line or data.lineno
    if depth > DEEPEST:
        return None
    if isinstance(data, ast.Name):
        column = find_scaled_column(text, data, line)
        if column is not None:
            return column
        value = find_last_value(text, data, line)
        if value is None or text.around(value, ast.If) is not text.around(data, ast.If):
            return None
        return _find_scaling(text, value, value.lineno, depth + 1)
    if isinstance(data, ast.Subscript):
        return None  # some of the rows
    if isinstance(data, ast.Call):
        if get_called_name(data) in HIDING or is_split(text, data):
            return None
        if _is_fitted(text, data, line) or is_scaled_in_function(text, data):
            return data
    if isinstance(data, ast.BinOp) and is_own_scaling(text, data, line):
        return data
    for part in ast.iter_child_nodes(data):
        if isinstance(part, ast.expr):
            scaled = _find_scaling(text, part, line, depth + 1)
            if scaled is not None:
                return scaled
    return None


def _is_fitted(text: SourceText, call: ast.Call, line: int) -> bool:
    """Return whether a call fits a scaler on rows and scales these."""
    owner = get_receiver(call)
    name = get_called_name(call)
    if owner is None or name not in ("fit_transform", "transform") or not call.args:
        return False
    scaler: ast.expr | None = owner
    if isinstance(owner, ast.Name | ast.Attribute):
        scaler = find_last_value(text, owner, line) or _find_own_scaler(text, owner)
    if isinstance(scaler, ast.Call) and get_called_name(scaler) == "fit":
        fits, scaler = [scaler], get_receiver(scaler)  # `StandardScaler().fit(X)`
    else:
        fits = [
            other
            for other in text.nodes
            if isinstance(other, ast.Call) and get_called_name(other) == "fit"
            and other.lineno <= call.lineno and other.args
            and ast.unparse(other.func) == f"{ast.unparse(owner)}.fit"
        ]  # fmt: skip
    if scaler is None or not FITTED.search(get_called_name(scaler)):
        return False
    rows = ast.unparse(call.args[0])
    is_known = name == "fit_transform" or any(
        fit.args and ast.unparse(fit.args[0]) == rows for fit in fits
    )
    return is_known and not EVALUATED.search(rows) and not TRAINED.search(rows)


def _find_own_scaler(text: SourceText, name: ast.expr) -> ast.expr | None:
    """Return what a class sets an attribute of its objects to, if it does so once."""
    word = get_own_attribute(name)
    values = [
        value
        for target, value in iter_assignments(text.around(name, ast.ClassDef))
        if word and get_own_attribute(target) == word
    ]
    return values[0] if len(values) == 1 else None
