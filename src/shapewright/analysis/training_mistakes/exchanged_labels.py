"""Find calls of the program's own losses whose scores and labels stand at the place of
each other: `soft_cross_entropy(labels, logits)` of `def soft_cross_entropy(logits,
labels)`.

The names of the arguments say it, and the function's text that the order matters: it
takes a softmax, or the logarithm, of its scores and not of its labels.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.findings.codes import MISPLACED_ARGUMENT
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
    is_starred,
    iter_assignments,
    list_parameters,
)

LABEL = re.compile(r"(labels?|targets?|gts?|truths?|true|tgts?)\d*")
SCORE = re.compile(
    r"(logits?|preds?|predictions?|predicted|scores?|outputs?|probs?|probabilities|hat)\d*"
)
"""Words of names that say that a tensor holds labels, or what a model gives."""
OF_SCORES = operators_with("gives_values") | {"log"}
"""Functions that a loss calls with what a model gives."""
OF_OBJECTS = frozenset({"self", "cls"})


def find_exchanged_labels(text: SourceText) -> Iterator[Finding]:
    """Yield findings for calls of a loss with labels for scores, and the reverse."""
    for call in text.nodes:
        pair = get_exchanged(text, call)
        if pair is None or not isinstance(call, ast.Call):
            continue
        labels, scores = (text.line_of(argument) for argument, _ in pair)
        yield build_finding(
            MISPLACED_ARGUMENT,
            f"`{text.line_of(call.func)}` is given `{labels}` as its `{pair[0][1]}` and"
            f" `{scores}` as its `{pair[1][1]}`: by their names they stand at the place"
            " of each other",
            text.span(call),
        )


def get_exchanged(
    text: SourceText, call: ast.AST
) -> tuple[tuple[ast.expr, str], tuple[ast.expr, str]] | None:
    """Return the argument of a call that is labels by its name and given as scores, and
    the one of scores that is given as labels, each with its parameter; None if they
    stand where they belong.
    """
    function = _find_called(text, call) if isinstance(call, ast.Call) else None
    if function is None or not isinstance(call, ast.Call) or is_starred(call):
        return None
    parameters = [p for p in list_parameters(function) if p not in OF_OBJECTS]
    pairs = list(zip(call.args, parameters, strict=False))
    labels = [
        p for p in pairs if _get_role(p[0]) == "label" and _read_role(p[1]) == "score"
    ]
    scores = [
        p for p in pairs if _get_role(p[0]) == "score" and _read_role(p[1]) == "label"
    ]
    if (
        len(labels) != 1
        or len(scores) != 1
        or text.around(call, *FUNCTIONS) is function
    ):
        return None
    if not _is_of_scores(function, labels[0][1], scores[0][1]):
        return None
    if _has_other_order(text, call, labels[0][0], scores[0][0]):
        return None
    return labels[0], scores[0]


def _find_called(text: SourceText, call: ast.Call) -> ast.AST | None:
    """Return the only function of the file by the name that is called, or the `forward`
    of the loss that the name, or the attribute of an object, is an object of.
    """
    functions = [node for _, node in text.functions(get_called_name(call))]
    owner = get_receiver(call)
    if functions or (owner is not None and get_last_name(owner) != "self"):
        is_plain = owner is None or get_last_name(owner) == "self"
        return functions[0] if len(functions) == 1 and is_plain else None
    value = find_known_value(text, call.func)
    if isinstance(call.func, ast.Attribute):
        values = [
            value
            for target, value in iter_assignments(text.around(call, ast.ClassDef))
            if ast.unparse(target) == ast.unparse(call.func)
        ]
        value = values[0] if len(values) == 1 else value
    kind = get_called_name(value)
    losses = [
        node
        for _, node in text.definitions(kind)
        if kind and isinstance(node, ast.ClassDef)
    ]
    methods = [
        node
        for holder in losses
        for node in holder.body
        if isinstance(node, ast.FunctionDef) and node.name == "forward"
    ]
    return methods[0] if len(losses) == len(methods) == 1 else None


def _get_role(node: ast.expr) -> str:
    """Return whether an argument is of labels or of scores by its name."""
    return (
        _read_role(get_last_name(node))
        if isinstance(node, ast.Name | ast.Attribute)
        else ""
    )


def _read_role(name: str) -> str:
    """Return `label` or `score` by the words of a name, or an empty string if it has
    words of both or none.
    """
    words = name.lower().split("_")
    is_label = any(LABEL.fullmatch(word) for word in words)
    is_score = any(SCORE.fullmatch(word) for word in words)
    if is_label == is_score:
        return ""
    return "label" if is_label else "score"


def _is_of_scores(function: ast.AST, scores: str, labels: str) -> bool:
    """Return whether a function takes a softmax or a logarithm of the parameter of
    scores, and nothing like it of that of labels, and sets neither name to the other.
    """
    operands: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and get_called_name(node) in OF_SCORES:
            owner = get_receiver(node)
            parts = [*node.args[:1], *([owner] if owner is not None else [])]
            operands |= {part.id for part in parts if isinstance(part, ast.Name)}
    is_changed = bool({scores, labels} & collect_names(function, ast.Store))
    return scores in operands and labels not in operands and not is_changed


def _has_other_order(
    text: SourceText, call: ast.Call, labels: ast.expr, scores: ast.expr
) -> bool:
    """Return whether the function is also called with both the other way round, as for
    a symmetric loss.
    """
    at = {ast.unparse(labels): 0, ast.unparse(scores): 1}
    order = [ast.unparse(a) for a in call.args if ast.unparse(a) in at]
    return any(
        isinstance(other, ast.Call)
        and ast.unparse(other.func) == ast.unparse(call.func)
        and [ast.unparse(a) for a in other.args if ast.unparse(a) in at] == order[::-1]
        for other in text.nodes
    )
