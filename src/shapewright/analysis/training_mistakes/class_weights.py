"""Find weights of classes that are upside down: the frequent ones count even more.

The text says it: `pos_weight` is the positives divided by the negatives, or the weights
of a cross entropy are the counts of its classes divided by their sum.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import CLASS_WEIGHTS_INVERTED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_item
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name

BINARY = frozenset({"BCEWithLogitsLoss", "binary_cross_entropy_with_logits"})
OVER_CLASSES = frozenset({"CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss"})
CASTS = operators_with(
    "keeps_elements", "moves_device", "leaves_graph", "takes_program_data",
    "regroups_dims", "moves_dims", "clamps", "copies_if_needed",
) | {"FloatTensor", "Tensor", "array", "astype", "to_numpy"}  # fmt: skip
"""Calls after which a count is the same count."""
COUNTING = frozenset({"bincount", "value_counts", "Counter"})
POSITIVE = re.compile(r"(^|_)(pos|positives?|ones?)(_|$)", re.I)
NEGATIVE = re.compile(r"(^|_)(neg|negatives?|zeros?)(_|$)", re.I)
ALL = re.compile(r"(^|_)(total|samples|size)$|^n$", re.I)
COUNTS = re.compile(r"(^|_)(counts?|freqs?|frequenc\w+|hist|histogram)(_|$)", re.I)
DEEPEST = 8


@looks_for(CLASS_WEIGHTS_INVERTED)
def find_inverted_weights(scene: RehearsalContext) -> Iterator[Finding]:
    """Find weights that let frequent classes count more."""
    seen: set[object] = set()
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Call):
                continue
            name = get_called_name(node)
            words = {word.arg: word.value for word in node.keywords}
            weight = words.get("pos_weight") if name in BINARY else None
            looks = _check_ratio
            if name in OVER_CLASSES:
                weight, looks = words.get("weight"), _check_shares
                if weight is None and name.endswith("Loss") and node.args:
                    weight = node.args[0]
            formula = _find_formula(text, weight) if weight is not None else None
            message = looks(text, formula) if formula is not None else ""
            if formula is None or not message or text.span(formula) in seen:
                continue
            seen.add(text.span(formula))
            yield build_finding(
                CLASS_WEIGHTS_INVERTED,
                message,
                text.span(formula),
                (text.span(node), "the loss takes it here"),
            )


def _find_formula(text: SourceText, node: ast.expr) -> ast.BinOp | None:
    """Return the quotient that a weight is, through casts and names."""
    for _ in range(DEEPEST):
        node = _strip_casts(node)
        if isinstance(node, ast.BinOp):
            return node if isinstance(node.op, ast.Div) else None
        if isinstance(node, ast.List) and len(node.elts) == 1:
            node = node.elts[0]
        elif isinstance(node, ast.Name):
            item = find_last_item(text, node, node.lineno)
            if item is None or item[1] is not None:
                return None
            node = item[0]
        elif isinstance(node, ast.Call):
            returned = _find_returned(text, node)
            if returned is None:
                return None
            node = returned
        else:
            return None
    return None


def _find_returned(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return what the only statement that returns of an own function returns."""
    name = get_called_name(call)
    returned = [
        node.value
        for _, function in text.definitions(name or None)
        if name and isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
    ]
    return returned[0] if len(returned) == 1 else None


def _strip_casts(node: ast.expr) -> ast.expr:
    """Return what is converted to a tensor, to floats or to a device."""
    while True:
        if isinstance(node, ast.Call) and _is_bounded(node):
            node = node.args[0]
        elif isinstance(node, ast.Call) and get_called_name(node) in CASTS:
            inner = _get_operand(node)
            if inner is None:
                return node
            node = inner
        elif isinstance(node, ast.Attribute) and node.attr == "values":
            node = node.value
        else:
            return node


def _get_operand(call: ast.Call) -> ast.expr | None:
    """Return `x` of `x.sum()` and of `torch.sum(x)`, or None."""
    owner = get_receiver(call)
    is_module = isinstance(owner, ast.Name) and owner.id in ("torch", "np", "numpy")
    if owner is not None and not is_module:
        return owner
    return call.args[0] if call.args else None


def _is_bounded(node: ast.Call) -> bool:
    """Return whether a call keeps a count from being 0: `max(count, 1)`."""
    is_own = isinstance(node.func, ast.Name) and node.func.id == "max"
    return is_own and len(node.args) == 2


def _check_ratio(text: SourceText, formula: ast.BinOp) -> str:
    """Return the message on a `pos_weight` that is positives by negatives."""
    top, bottom = formula.left, formula.right
    roles = [_find_role(text, part, DEEPEST) for part in (top, bottom)]
    if roles[0] != "positive" or roles[1] not in ("negative", "all"):
        return ""
    first, last = text.line_of(top), text.line_of(bottom)
    what = "the negatives" if roles[1] == "negative" else "all samples"
    return (
        f"`{first}` counts the positives and `{last}` {what}: `pos_weight` multiplies"
        " the loss of the positives, so that rare ones count even less"
    )


def _find_role(text: SourceText, node: ast.expr, left: int) -> str:
    """Return what a number counts: "positive", "negative", "all", or ""."""
    node = _strip_casts(node)
    if left == 0:
        return ""
    if isinstance(node, ast.Name):
        item = find_last_item(text, node, node.lineno)
        by_name = _read_role(node.id)
        by_value = ""
        if item is not None and item[1] is None:
            by_value = _find_role(text, item[0], left - 1)
        elif item is not None and get_called_name(_strip_casts(item[0])) == "bincount":
            by_value = {0: "negative", 1: "positive"}.get(item[1] or 0, "")
        return (
            ""
            if by_name and by_value and by_name != by_value
            else (by_value or by_name)
        )
    if isinstance(node, ast.Subscript):
        is_count = COUNTS.search(ast.unparse(node.value)) or (
            get_called_name(node.value) in COUNTING
        )
        index = {"0": "negative", "1": "positive"}.get(ast.unparse(node.slice), "")
        return index if is_count else ""
    if isinstance(node, ast.Attribute):
        return _read_role(node.attr)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        sides = [_find_role(text, part, left - 1) for part in (node.left, node.right)]
        if _is_one(node.left):
            sides[0] = "all"
        return (
            "negative"
            if sides == ["all", "positive"]
            else ("positive" if sides == ["all", "negative"] else "")
        )
    return _find_role_of_call(text, node)


def _read_role(name: str) -> str:
    """Return what a name says that a number counts."""
    if ALL.search(name):
        return "all"
    if POSITIVE.search(name) and not NEGATIVE.search(name):
        return "positive"
    return "negative" if NEGATIVE.search(name) and not POSITIVE.search(name) else ""


def _find_role_of_call(text: SourceText, node: ast.expr) -> str:
    """Return what a sum, a mean or a length of labels counts."""
    if _is_length(node):
        return "all"
    if not isinstance(node, ast.Call) or get_called_name(node) not in SUMS:
        return ""
    summed = _get_operand(node)
    return _find_role_of_elements(text, summed) if summed is not None else ""


def _find_role_of_elements(text: SourceText, node: ast.expr) -> str:
    """Return what is counted where labels, or truths about them, are added up."""
    node = _strip_casts(node)
    if isinstance(node, ast.Name):
        if by_name := _read_role(node.id):
            return by_name
        item = find_last_item(text, node, node.lineno)
        value = _strip_casts(item[0]) if item is not None else None
        is_mask = isinstance(value, ast.UnaryOp) or (
            isinstance(value, ast.Compare)
            and isinstance(value.left, ast.Name | ast.Attribute | ast.Subscript)
        )  # it may be of negatives, or be the labels themselves
        return "" if is_mask else "positive"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        number = getattr(node.comparators[0], "value", None)
        if isinstance(node.ops[0], ast.Eq) and number in (0, 1):
            return "positive" if number == 1 else "negative"
        is_above = isinstance(node.ops[0], ast.Gt | ast.NotEq) and number == 0
        return "positive" if is_above else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return "negative" if _is_one(node.left) else ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return "negative"
    return "positive" if isinstance(node, ast.Attribute | ast.Subscript) else ""


SUMS = ("sum", "count_nonzero", "mean")


def _is_length(node: ast.expr) -> bool:
    """Return whether an expression is the number of samples."""
    if isinstance(node, ast.Call):
        return get_called_name(node) in ("len", "numel", "size")
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    return isinstance(node, ast.Attribute) and node.attr == "size"


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _check_shares(text: SourceText, formula: ast.BinOp) -> str:
    """Return the message on weights of classes that are their shares."""
    top = _strip_casts(formula.left)
    if not _is_counts(text, top, DEEPEST) or not _is_total(text, formula.right):
        return ""
    return (
        f"`{text.line_of(formula)}` is the share of each class: as a weight it lets the"
        " frequent classes count even more, and the rare ones less"
    )


def _is_counts(text: SourceText, node: ast.expr, left: int) -> bool:
    """Return whether an expression counts the samples of each class."""
    node = _strip_casts(node)
    if left == 0:
        return False
    if get_called_name(node) in COUNTING:
        return True
    if isinstance(node, ast.Name):
        item = find_last_item(text, node, node.lineno)
        if item is None:
            return False
        if item[1] is not None:
            return item[1] == 1 and "return_counts=True" in text.line_of(item[0])
        return _is_counts(text, item[0], left - 1) or (
            COUNTS.search(node.id) is not None and _is_list_of_counts(item[0])
        )
    if isinstance(node, ast.Attribute):
        return COUNTS.search(node.attr) is not None
    return _is_list_of_counts(node)


def _is_list_of_counts(node: ast.expr) -> bool:
    """Return whether a list counts, item by item: `[(y == c).sum() for c in ...]`."""
    node = _strip_casts(node)
    if isinstance(node, ast.ListComp):
        part = _strip_casts(node.elt)
        return get_called_name(part) in ("sum", "count", "len")
    is_numbers = isinstance(node, ast.List) and all(
        isinstance(item, ast.Constant) for item in node.elts
    )
    return is_numbers


def _is_total(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is one number for all classes."""
    node = _strip_casts(node)
    if isinstance(node, ast.Name):
        item = find_last_item(text, node, node.lineno)
        if item is None or item[1] is not None:
            return False
        return _is_total(text, item[0])
    return _is_length(node) or get_called_name(node) in ("sum", "max", "min", "mean")
