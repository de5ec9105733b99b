"""Find labels that a loss ignores, and that a count of all pairs does not leave out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.ignored_classes import find_ignored_class_names
from shapewright.analysis.hazards.loss_targets import CLASS_LOSSES
from shapewright.analysis.hazards.padded_rows import find_padded_rows
from shapewright.analysis.makers import iter_first_makers
from shapewright.findings.codes import IGNORED_LABELS_COUNTED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import get_receiver
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

CARRYING = operators_with(
    "is_view", "copies_if_needed", "joins_tensors", "keeps_elements", "moves_device",
    "is_arithmetic",
) | {"to"}  # fmt: skip
FARTHEST = 10
"""Calls between labels and their count."""
MOST_LABELS = 2_000
"""Calls between the labels of a batch and the data, of all its items."""
USUAL = -100
"""What losses ignore if nothing else is said; no data set has it by itself."""


@looks_for(IGNORED_LABELS_COUNTED)
def find_counted_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find `bincount(n * truth + prediction)` of labels of which the loss ignores one
    beyond the n classes.
    """
    yield from _find_counted_padding(scene)
    yield from _find_ignored_class(scene)
    yield from find_ignored_class_names(scene)
    ignoring = _find_ignoring_loss(scene)
    seen: set[object] = set()
    for call in scene.calls if ignoring is not None else ():
        if call.name != "bincount" or call.op.span is None or call.op.span in seen:
            continue
        if ignoring is None or not call.op.inputs:
            continue
        loss, label = ignoring
        highest = _find_highest_label(scene, loss.inputs[1])
        if highest is not None and highest < label:
            continue
        batches = scene.program.batches
        if not _is_made_of_labels(scene, call.op.inputs[0], set(batches)):
            continue
        seen.add(call.op.span)
        message = (
            f"the loss ignores label {label}, and here it is counted like a class:"
            " there are more counts than classes have pairs"
        )
        where = f"`ignore_index={label}` is here"
        yield scene.finding(IGNORED_LABELS_COUNTED, call.op, message, (loss, where))


def _find_counted_padding(scene: HazardContext) -> Iterator[Finding]:
    """Find `(prediction == labels).sum()` of labels that are padded with what the loss
    ignores, and of which no mask leaves the padding out.
    """
    losses = {
        label: call.op
        for call in scene.calls
        if call.name in CLASS_LOSSES
        and type(label := dict(call.op.arguments).get("ignore_index", USUAL)) is int
    }
    seen: set[object] = set()
    for call in scene.calls if losses else ():
        op = call.op
        if call.name not in ("==", "eq") or len(op.inputs) != 2 or op.span in seen:
            continue
        if not all(
            fact.dtype.startswith("int") and fact.ndim > 1 for fact in op.inputs
        ):
            continue
        padded = next(
            (
                pair
                for fact in op.inputs
                if (pair := _find_padding(scene, fact, losses))
            ),
            None,
        )
        if padded is None or op.span is None or not _is_counted_whole(scene, op):
            continue
        if _is_left_out(scene, op, padded[1]):
            continue
        seen.add(op.span)
        padding, label = padded
        message = (
            f"the labels are padded with {label}, which the loss ignores, and padding"
            " counts here: no prediction at padding was trained to be it"
        )
        yield scene.finding(
            IGNORED_LABELS_COUNTED,
            op,
            message,
            (padding, "the labels are padded here"),
            (losses[label], f"`ignore_index={label}` is here"),
        )


LEFT_OUT = re.compile(
    r"pad(?!ding\s*=)|void|unlabel|background|unknown|invalid|missing|blank|special",
    re.I,
)
"""What a program calls a label that is to be ignored."""


def _find_ignored_class(scene: HazardContext) -> Iterator[Finding]:
    """Find a loss that ignores one of its classes, which a count of all labels takes
    for a class like the others, in a program that names nothing to be left out.
    """
    if any(LEFT_OUT.search(text.text) for text in scene.program.own_texts()):
        return
    counts = [
        call.op
        for call in scene.calls
        if call.name in ("==", "eq")
        and len(call.op.inputs) == 2
        and all(fact.dtype.startswith("int") for fact in call.op.inputs)
    ]
    seen: set[object] = set()
    for call in scene.calls if counts else ():
        op, label = call.op, dict(call.op.arguments).get("ignore_index")
        if call.name not in CLASS_LOSSES or len(op.inputs) < 2 or op.span in seen:
            continue
        shapes = [fact.shape for fact in op.inputs[:2]]
        if type(label) is not int or len(shapes[0]) < 3 or len(shapes[1]) < 2:
            continue
        if not 0 <= label < shapes[0][1] or _is_left_out(scene, op, label):
            continue
        counted = next(
            (
                other
                for other in counts
                if other.inputs[0].shape == other.inputs[1].shape
                and other.inputs[0].shape[1:] == shapes[1][1:]
                and _is_counted_whole(scene, other)
                and not _is_left_out(scene, other, label)
            ),
            None,
        )
        if counted is None or op.span is None:
            continue
        seen.add(op.span)
        message = (
            f"label {label}, one of the {shapes[0][1]} classes, is ignored by this loss"
            " and counted like the others elsewhere: no prediction of it is trained"
        )
        yield scene.finding(
            IGNORED_LABELS_COUNTED, op, message,
            (counted, "it counts here"),
        )  # fmt: skip


def _find_padding(
    scene: HazardContext, fact: Fact, losses: dict[int, Op]
) -> tuple[Op, int] | None:
    """Return the call that padded labels with what a loss ignores, and the label."""
    maker = scene.program.producers.get(fact.tensor)
    makers = [maker] if maker is not None else []
    for op in (*makers, *iter_first_makers(scene.program, fact, FARTHEST)):
        rows = find_padded_rows(scene, op)
        if rows is not None:
            label = int(rows.value)
            return (op, label) if label in losses and rows.value == label else None
        if op.name.rpartition(".")[2] not in CARRYING | {"[]"}:
            return None
    return None


def _is_left_out(scene: HazardContext, op: Op, label: int) -> bool:
    """Return whether a mask tells padding apart: `labels != -100`, beside a comparison
    with predictions.
    """
    return any(
        user.name in COMPARISONS and user.given(1, "other") == label
        for fact in op.inputs
        for user in scene.users.get(fact.tensor, ())
    )


def _is_total_of_all(scene: HazardContext, op: Op) -> bool:
    """Return whether the function around a comparison takes the number of all labels,
    `labels.numel()`; elsewhere a sum of what is equal may meet the number of tokens.
    """
    place = scene.program.node(op.span)
    if place is None:
        return False
    text, node = place
    around = text.around(node, ast.FunctionDef) or text.tree
    compared = {word.strip("`") for word in scene.words(op)}
    for call in ast.walk(around) if around is not None else ():
        if isinstance(call, ast.Call) and get_called_name(call) in NUMBERS:
            owner = get_receiver(call)
            if owner is not None and text.written(owner) in compared:
                return True
    return False


NUMBERS = frozenset({"numel", "nelement"})
COMPARISONS = operators_with("compares_elements") | {"!=", "==", ">", ">=", "<"}


def _is_counted_whole(scene: HazardContext, op: Op) -> bool:
    """Return whether the truths of a comparison are averaged with no mask before, or
    added up for a mean over all labels.
    """
    waiting, is_counted = [op.outputs[0].tensor], False
    for _ in range(FARTHEST):
        if not waiting:
            break
        for user in scene.users.get(waiting.pop(), ()):
            if user.name in ("sum", "count_nonzero"):
                is_counted = is_counted or _is_total_of_all(scene, op)
            elif user.name == "mean":
                is_counted = True
            elif user.name in CARRYING | {"float", "long", "int"}:
                if len(user.op.inputs) > 1:
                    return False
                waiting += [out.tensor for out in user.op.outputs]
            else:
                return False
    return is_counted


def _find_ignoring_loss(scene: HazardContext) -> tuple[Op, int] | None:
    """Return a loss that ignores a label beyond its classes, and that label."""
    for call in scene.calls:
        if call.name not in CLASS_LOSSES:
            continue
        label = dict(call.op.arguments).get("ignore_index", USUAL)
        shape = call.op.inputs[0].shape
        if type(label) is not int or label == USUAL or len(shape) < 2:
            continue
        if not 0 <= label < shape[1]:
            return call.op, label
    return None


def _find_highest_label(scene: HazardContext, fact: Fact) -> int | None:
    """Return the largest label that the data of a loss hold, or None if unknown."""
    values = scene.program.data_values
    highest, waiting = -1, [fact]
    for _ in range(MOST_LABELS):
        if not waiting:
            return highest if highest >= 0 else None
        item = waiting.pop()
        known = values.get(item.tensor)
        if known is not None and known.highest is not None:
            highest = max(highest, known.highest)
            continue
        maker = scene.program.producers.get(item.tensor)
        if maker is None or not maker.inputs:
            return None
        is_column = maker.name == "[]" and len(maker.inputs) == 1
        if not is_column and maker.name.rpartition(".")[2] not in CARRYING:
            return None
        waiting += maker.inputs
    return None


def _is_made_of_labels(scene: HazardContext, fact: Fact, batches: set[int]) -> bool:
    """Return whether numbers are made of the labels of a batch, none of them left out
    or replaced.
    """
    waiting = [fact]
    for _ in range(FARTHEST):
        following: list[Fact] = []
        for item in waiting:
            if item.tensor in batches:
                return True
            maker = scene.maker(item)
            is_column = maker is not None and maker.name == "[]"
            is_column = is_column and maker is not None and len(maker.op.inputs) == 1
            if maker is None or not (is_column or maker.name in CARRYING):
                continue
            following += maker.op.inputs
        waiting = following
    return False
