"""Scores that metrics of scikit-learn refuse: probabilities where classes are counted,
logits where the probabilities of several classes are to add up to 1.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

OF_CLASSES = frozenset({
    "f1_score", "accuracy_score", "precision_score", "recall_score", "fbeta_score",
    "precision_recall_fscore_support", "confusion_matrix", "classification_report",
    "balanced_accuracy_score", "jaccard_score", "cohen_kappa_score",
    "matthews_corrcoef",
})  # fmt: skip
"""Metrics that count classes."""
OF_ROWS = "roc_auc_score"
"""The metric that takes the probabilities of several classes."""
PROBABILITIES = frozenset({"sigmoid", "softmax"})
PASSED_ON = re.compile(
    r"(un)?squeeze|view|reshape|flatten|ravel|cpu|numpy|detach|cat|concatenate"
    r"|[vh]?stack|tolist|array|asarray|list|float|double"
)
"""What hands probabilities on as they are."""
DECIDING = (ast.Compare, ast.BinOp, ast.IfExp, ast.comprehension, ast.Lambda)
"""Expressions that may decide scores."""
NORMALIZING = re.compile(
    r"softmax|sigmoid|predict_proba|\.exp\(|\.sum\(", re.IGNORECASE
)
OF_MODULES = frozenset({"eval", "train", "parameters", "state_dict"})


def collect_modules(text: SourceText) -> set[str]:
    """Return the names of what a file uses as models."""
    owners = {
        get_dotted_name(get_receiver(node))
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in OF_MODULES
    }
    return owners - {""}


def describe_refused_scores(
    text: SourceText, call: ast.Call, sources: list[ast.expr], modules: set[str]
) -> tuple[str, ast.expr] | None:
    """Return why scikit-learn refuses the scores of a metric, and what makes them, or
    None. The sources are the argument, and what leads to it from
    the model on.
    """
    name = get_called_name(call)
    if len(call.args) < 2 or not _is_of_library(text, call, name):
        return None
    written = text.line_of(call.args[1])
    if name in OF_CLASSES:
        place = _find_probabilities(text, sources)
        message = (
            f"`{name}` counts classes, and `{written}` holds probabilities, which"
            " scikit-learn refuses: a threshold or `argmax` makes classes of them"
        )
    else:
        words = {word.arg for word in call.keywords}
        is_of_rows = name == OF_ROWS and "multi_class" in words
        place = _find_logits(text, sources, modules) if is_of_rows else None
        message = (
            f"`{name}` of several classes takes probabilities that add up to 1 for each"
            f" sample, and `{written}` holds the model's output as it is: scikit-learn"
            " refuses it"
        )
    return (message, place) if place is not None else None


def _is_of_library(text: SourceText, call: ast.Call, name: str) -> bool:
    """Return whether a metric is imported from scikit-learn."""
    owner = get_dotted_name(get_receiver(call))
    for node in text.nodes:
        for alias in getattr(node, "names", ()):
            if not isinstance(alias, ast.alias):
                continue
            module = getattr(node, "module", None) or ""
            full = f"{module}.{alias.name}".strip(".")
            known = alias.asname or alias.name
            is_owner = known == (owner or name) or owner.startswith(f"{known}.")
            if full.startswith("sklearn") and is_owner:
                return True
    return False


def _find_probabilities(text: SourceText, sources: list[ast.expr]) -> ast.expr | None:
    """Return the call that makes probabilities, if nothing decides them later on."""
    place: ast.expr | None = None
    names = {get_dotted_name(source) for source in sources}
    for node in text.nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(
            isinstance(target, ast.Subscript) and get_dotted_name(target.value) in names
            for target in targets
        ):
            return None  # `scores[scores > 0.5] = 1`
    for source in sources:
        for part in _iter_outer(source):
            kind = get_called_name(part)
            if kind in PROBABILITIES and isinstance(part, ast.Call):
                place = part
            elif isinstance(part, DECIDING) or (
                isinstance(part, ast.Call) and not PASSED_ON.fullmatch(kind)
            ):
                return None
    return place


def _iter_outer(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of an expression, but for those that probabilities are made of
    and the indices.
    """
    yield node
    if get_called_name(node) in PROBABILITIES:
        return
    if isinstance(node, ast.Subscript):
        yield from _iter_outer(node.value)
        return
    for child in ast.iter_child_nodes(node):
        yield from _iter_outer(child)


def _find_logits(
    text: SourceText, sources: list[ast.expr], modules: set[str]
) -> ast.expr | None:
    """Return the call of a model whose output is handed on as it is."""
    if any(NORMALIZING.search(text.written(source)) for source in sources):
        return None
    calls = [
        part
        for source in sources
        for part in ast.walk(source)
        if isinstance(part, ast.Call) and get_dotted_name(part.func) in modules
    ]
    others = [
        part
        for source in sources
        for part in ast.walk(source)
        if isinstance(part, ast.Call) and part not in calls
        if not PASSED_ON.fullmatch(get_called_name(part))
    ]
    is_inner = [any(other in ast.walk(call) for call in calls) for other in others]
    if len(calls) != 1 or not all(is_inner) or _has_normalizing_model(text):
        return None
    return calls[0]


def _has_normalizing_model(text: SourceText) -> bool:
    """Return whether a class or a sequence of layers of a file ends in probabilities,
    or a loss takes them.
    """
    return (
        any(
            isinstance(node, ast.ClassDef | ast.Call)
            and NORMALIZING.search(text.written(node)) is not None
            for node in text.nodes
            if isinstance(node, ast.ClassDef) or get_called_name(node) == "Sequential"
        )
        or "NLLLoss" in text.text
        or "nll_loss" in text.text
    )
