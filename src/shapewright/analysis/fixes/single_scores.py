"""A binary loss for a model with one score for each sample, where a cross entropy
compares the scores of several classes.

Without its dim of size 1 the batch would be taken for the classes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from shapewright.analysis.fixes.class_ranges import find_largest_label
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

LOSS = "cross_entropy"
OF_PROBABILITIES = {
    "CrossEntropyLoss": "BCELoss", "cross_entropy": "binary_cross_entropy",
}  # fmt: skip
OF_LOGITS = {
    "CrossEntropyLoss": "BCEWithLogitsLoss",
    "cross_entropy": "binary_cross_entropy_with_logits",
}
"""The binary loss for a loss of classes."""
KEPT = ("reduction",)
"""Arguments that both losses have."""
ACTIVATION = "sigmoid"


def suggest_binary_loss(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `nn.BCELoss()`, or the loss of logits, and `target.unsqueeze(1)` for
    one score for each sample.
    """
    op = program.trace.ops[failure.op]
    ops = [program.trace.ops[other.op] for other in program.failures]
    is_of_one = _has_name_of_loss(op) and _is_of_two(program, op)
    if is_of_one or _has_single_score(program, op):
        yield from _suggest_for_calls(program, op, ops)


def suggest_binary_loss_of_one(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the same where a cross entropy runs over one class and is always 0."""
    op = program.op_at(finding.span, finding.module)
    ops = [other for other in program.trace.ops if _has_name_of_loss(other)]
    if op is not None and _has_name_of_loss(op) and _is_of_two(program, op):
        yield from _suggest_for_calls(program, op, ops)


def _suggest_for_calls(program: Program, op: Op, ops: list[Op]) -> Iterator[Fix]:
    """Suggest a binary loss where the loss of a call is built, and targets of the shape
    and the dtype of the scores in each call of it.
    """
    table = OF_PROBABILITIES if _is_activated(program, op) else OF_LOGITS
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if layer is not None and built is None:
        return
    edits: list[Edit] = []
    message = ""
    if built is not None:
        place = program.call_at(built.span)
        if place is None:
            return
        message, edit = _write_loss(*place, table)
        edits += [edit] if edit is not None else []
    seen: set[object] = set()
    for other in ops if built is not None else [op]:
        same = program.layer(other)
        is_same = layer is None or (same is not None and same.path == layer.path)
        place = program.call_at(other.span)
        if not is_same or place is None or other.span in seen:
            continue
        seen.add(other.span)
        text, call = place
        if built is None:
            message, edit = _write_loss(text, call, table, whole=False)
            edits += [edit] if edit is not None else []
        target = _find_target(call)
        is_single = _has_single_score(program, other) or _is_of_two(program, other)
        if target is None or not is_single:
            return
        method = _write_method(other)
        if method:
            fix = append_method(text, target, method)
            message = f"{message} and {fix.message}"
            edits += fix.edits
    if message and edits:
        yield Fix("fits", message, tuple(edits))


def _has_name_of_loss(op: Op) -> bool:
    """Return whether an operator is a cross entropy of two tensors."""
    return op.name.rpartition(".")[2] == LOSS and len(op.inputs) > 1


def _is_of_two(program: Program, op: Op) -> bool:
    """Return whether the targets of one class are fractions, or 0 and 1."""
    scores, target = op.inputs[:2]
    if scores.ndim < 2 or scores.shape[1] != 1:
        return False
    if target.dtype.startswith(("float", "bf")):
        return target.shape == scores.shape
    return find_largest_label(program, target) == 1


def describe_single_score(program: Program, failure: Failure) -> Related | None:
    """Return the loss that compares classes, where there is one score."""
    op = program.trace.ops[failure.op]
    if not _has_single_score(program, op) or op.span is None:
        return None
    shape = op.inputs[0].shape
    behind = ", behind a sigmoid" if _is_activated(program, op) else ""
    words = f"the prediction {shape} is one score for each sample{behind}, not classes"
    return Related(op.span, words)


def _has_single_score(program: Program, op: Op) -> bool:
    """Return whether a cross entropy is given one score and one target for each sample,
    which is no number of a class.
    """
    if not _has_name_of_loss(op):
        return False
    scores, target = op.inputs[:2]
    if target.shape[:1] != scores.shape[:1] or prod(target.shape) != prod(scores.shape):
        return False
    if scores.ndim == 1:  # a column that was squeezed
        makers = iter_first_makers(program, scores)
        column = (*scores.shape, 1)
        return any(m.inputs and m.inputs[0].shape == column for m in makers)
    is_fraction = target.dtype.startswith(("float", "bf"))
    return scores.ndim == 2 and scores.shape[1] == 1 and is_fraction


def _is_activated(program: Program, op: Op) -> bool:
    """Return whether the scores are probabilities already."""
    for maker in iter_first_makers(program, op.inputs[0]):
        if maker.name.rpartition(".")[2].rstrip("_") == ACTIVATION:
            return True
        is_kept = maker.inputs and prod(maker.inputs[0].shape) == prod(
            op.inputs[0].shape
        )
        if not is_kept or len(maker.inputs) > 1:
            return False
    return False


def _write_loss(
    text: SourceText, call: ast.Call, table: dict[str, str], whole: bool = True
) -> tuple[str, Edit | None]:
    """Return the binary loss as it is written, and the edit that writes it in place of
    a call of the other, or of its function.
    """
    name, written = get_called_name(call), text.written(call.func)
    other = table.get(name)
    if other is None:
        return "", None
    owner = written[: -len(name)] or ("torch.nn." if whole else "")
    if not owner:
        owner = "torch.nn.functional."
    if not whole:
        return f"`{owner}{other}`", Edit(text.span(call.func), f"{owner}{other}")
    words = [
        f"{word.arg}={text.written(word.value)}"
        for word in call.keywords
        if word.arg in KEPT
    ]
    new = f"{owner}{other}({', '.join(words)})"
    return f"`{new}`", Edit(text.span(call), new)


def _find_target(call: ast.Call) -> ast.expr | None:
    """Return the target of a loss as it is written."""
    named = [word.value for word in call.keywords if word.arg == "target"]
    if named:
        return named[0]
    return call.args[1] if len(call.args) > 1 else None


def _write_method(op: Op) -> str:
    """Return the methods that give a target the shape and the type of the scores."""
    scores, target = op.inputs[:2]
    method = ".unsqueeze(1)" if target.ndim < scores.ndim else ""
    if target.ndim > scores.ndim:
        method = ".squeeze(1)"
    return method if target.dtype == scores.dtype else f"{method}.float()"
