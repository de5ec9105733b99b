"""Find scores that are compared with class labels, classes that are chosen among the
samples, and losses whose rows are paired in two orders.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.array_labels import find_compared_maxima
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.mixed_samples import find_exchanged_mixtures
from shapewright.analysis.hazards.sorted_batches import (
    find_repeated_pairs,
    find_sorted_batches,
    find_sorted_pairs,
)
from shapewright.analysis.hazards.value_makers import LINEAR, PASSING
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axes import Axis, Dim
from shapewright.analysis.provenance.axis_flow import OperatorCall, get_length
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.analysis.provenance.padded_sequences import find_turned_sequence
from shapewright.findings.codes import (
    COMPARED_SCORES,
    PAIRED_ROWS,
    WRONG_AXIS,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact

EQUALITY = frozenset({"==", "!=", "eq", "ne"})
CHOOSING = operators_with("returns_values_and_indices")
SELECTING = CHOOSING | operators_with("finds_extremes", "sorts_elements")
"""What returns the largest scores themselves, some of them with their indices."""
SCORES = LINEAR | frozenset(values_of("gives_values")) | {"relu", "tanh"}
LOSSES = operators_with("is_loss")
FARTHEST = 8
RANKS = (2, 3, 4)
"""Dims of scores: of samples, of the steps of a sequence, of the pixels of an image."""


@looks_for(COMPARED_SCORES)
def find_compared_scores(scene: HazardContext) -> Iterator[Finding]:
    """Find `==` between scores and integer labels."""
    yield from find_compared_maxima(scene.program)
    for call in scene.calls:
        if call.name not in EQUALITY or len(call.op.inputs) != 2:
            continue
        kinds = [fact.dtype.startswith("float") for fact in call.op.inputs]
        labels = [fact.dtype.startswith("int") for fact in call.op.inputs]
        if sum(kinds) != 1 or sum(labels) != 1 or call.op.span is None:
            continue
        at = kinds.index(True)
        scores_call = _find_scores(scene, call.op.inputs[at])
        if scores_call is None:
            continue
        name = scene.names(call.op)[at].rsplit(" (", 1)[0]
        label = scene.names(call.op)[1 - at].rsplit(" (", 1)[0]
        what = f"scores of {scene.operation(scores_call.op)}"
        if scores_call.name in SELECTING:
            what = f"the values of {scene.operation(scores_call.op)}, not its indices"
        message = (
            f"{name} holds {what}, and {label} holds classes: they are never equal"
        )
        yield scene.finding(
            COMPARED_SCORES,
            call.op,
            message,
            (scores_call.op, "the scores are made here"),
        )


def _find_scores(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that made scores, or the largest of them; None for others."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in SELECTING:
            values = maker.op.outputs[0].tensor == fact.tensor
            along = len(maker.op.outputs) == 2 or bool(maker.shape)
            scores = _find_scores(scene, maker.op.inputs[0])
            return maker if values and along and scores is not None else None
        if maker.name in SCORES:
            return maker
        if maker.name not in PASSING:
            return None
        fact = maker.op.inputs[0]
    return None


def find_classes_along_batch(scene: HazardContext) -> Iterator[Finding]:
    """Find `argmax` along the batch of scores, which finds a sample for each class."""
    for call in scene.calls:
        if call.name not in CHOOSING | {"argmax"} or call.op.span is None:
            continue
        if (
            not call.dims
            or len(call.dims[0]) not in RANKS
            or not _has_used_indices(scene, call)
        ):
            continue
        dims, gone = call.dims[0], find_reduced_dims(call)
        if call.name == "topk":  # its first number counts the largest
            gone = (call.given(2, "dim", default=-1),)
        if gone is None or list(gone) != [0] or not scene.is_batch(dims[0]):
            continue
        scores_call = _find_scores(scene, call.op.inputs[0])
        if get_length(dims[0]) < 2 or get_length(dims[1]) < 2 or scores_call is None:
            continue
        shape = format_shape(call.op.inputs[0])
        what = "a sample for each" if len(dims) == 2 else "at each place a sample"
        message = (
            f"{scene.operation(call.op)} of {shape} runs along dim 0, the batch: it"
            f" finds {what} of the {get_length(dims[1])} classes"
        )
        yield scene.finding(
            WRONG_AXIS, call.op, message, (scores_call.op, "the scores")
        )


def _has_used_indices(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the program uses the indices that a call returns."""
    if call.name == "argmax":
        return True
    indices = call.op.outputs[1:2]
    return any(scene.users.get(fact.tensor) for fact in indices)


@looks_for(PAIRED_ROWS)
def find_paired_rows(scene: HazardContext) -> Iterator[Finding]:
    """Find losses whose rows count steps, then samples, and whose targets count
    samples, then steps; and rows that stay in the order of their lengths.
    """
    yield from find_exchanged_mixtures(scene)
    yield from find_sorted_batches(scene)
    yield from find_sorted_pairs(scene)
    yield from find_repeated_pairs(scene)
    for call in scene.calls:
        if call.name not in LOSSES or len(call.dims) < 2 or call.op.span is None:
            continue
        if not (call.dims[0] and call.dims[1]):
            continue
        row_counts, target_counts = (_get_sizes(dims[0]) for dims in call.dims[:2])
        if _is_sample_moved(call.dims[0][0], call.dims[1][0]):
            row_counts, target_counts = (
                [axis.size for axis in dims[0] if axis.size > 1]
                for dims in call.dims[:2]
            )
        elif (
            row_counts == target_counts
            or sorted(row_counts) != sorted(target_counts)
            or len(row_counts) < 2
        ):
            continue
        names = scene.names(call.op)
        message = (
            f"row by row, {names[0]} counts {' x '.join(map(str, row_counts))} and"
            f" {names[1]}"
            f" counts {' x '.join(map(str, target_counts))}: predictions meet targets"
            " of other places"
        )
        makers = [scene.maker(fact) for fact in call.op.inputs[:2]]
        places = tuple(
            (maker.op if maker is not None else None, f"{_name_order(dims[0])} here")
            for maker, dims in zip(makers, call.dims, strict=False)
        )
        padded = [
            find_turned_sequence(scene.program, fact) for fact in call.op.inputs[:2]
        ]
        first = [
            (
                op,
                "without `batch_first=True` this puts the steps first",
            )
            for op in padded
            if op is not None
        ]
        yield scene.finding(PAIRED_ROWS, call.op, message, *first, *places)


def _is_sample_moved(rows: Dim, targets: Dim) -> bool:
    """Return whether two dims join the same samples with as many steps, of whatever
    these are, and the samples come first in one of them only.
    """
    pairs = [[axis for axis in dim if axis.size > 1] for dim in (rows, targets)]
    if any(len(pair) != 2 for pair in pairs):
        return False
    (first, second), (other, last) = pairs
    if first.root is last.root:
        same, steps = last.root, (second, other)
    elif second.root is other.root:
        same, steps = other.root, (first, last)
    else:
        return _is_turned(pairs)
    kinds = {axis.kind for axis in steps}
    is_stacked = "parts" in kinds and not any(axis.root is same for axis in steps)
    return is_stacked and same.kind == "input" and steps[0].size == steps[1].size


def _is_turned(pairs: list[list[Axis]]) -> bool:
    """Return whether two dims join axes of two sizes in opposite orders, where those of
    one come first as steps that were stacked, or written one by one.
    """
    (first, second), (other, last) = pairs
    is_opposite = (first.size, second.size) == (last.size, other.size)
    if not is_opposite or first.size == second.size:
        return False
    kinds = {axis.kind for pair in pairs for axis in pair}
    return {first.kind, other.kind} & COLLECTED != set() and "feature" not in kinds


COLLECTED = {"parts", "made"}
"""Kinds of axes along which a program collects what it computes step by step."""


def _get_sizes(dim: Dim) -> list[int]:
    """Return the sizes of the data's axes that a dim joins."""
    if any(not axis.data for axis in dim):
        return []
    resized = [axis for axis in dim if axis.kind == "changed"]
    if any(axis.root.kind not in ("input", "source") for axis in resized):
        return []
    return [axis.size for axis in dim if axis.size > 1]


def _name_order(dim: Dim) -> str:
    """Describe the axes that a dim joins."""
    words = [axis.words or f"{axis.size}" for axis in dim if axis.size > 1]
    return ", then ".join(words)
