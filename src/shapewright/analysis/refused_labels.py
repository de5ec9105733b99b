"""The label that a loss refuses because it has no such class."""

from __future__ import annotations

import re

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure

CLASS_LOSSES = operators_with("is_loss") & operators_with("has_index_bounds")
OUT_OF_BOUNDS = re.compile(r"Target (-?\d+) is out of bounds")
MOST_MORE = 8
"""Classes that a model may lack; a label beyond them stands for no class."""


def find_refused_label(
    program: Program, failure: Failure, most: int = MOST_MORE
) -> tuple[int, int] | None:
    """Return the label that a loss refuses, and the number of classes it has; None if
    no class can be meant: of negative labels, and of those `most` beyond the classes.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if op.name.rpartition(".")[2] not in CLASS_LOSSES or len(op.inputs) < 2:
        return None
    shape, label = op.inputs[0].shape, None
    if unmet is not None and unmet.code == INDEX_OUT_OF_RANGE:
        label = unmet.has if type(unmet.has) is int else None
    elif unmet is None:
        match = OUT_OF_BOUNDS.search(failure.torch_message)
        label = int(match[1]) if match is not None else None
    if label is None or not shape:
        return None
    classes = shape[1 if len(shape) > 1 else 0]
    return (label, classes) if classes <= label < classes + most else None


def has_label_0(program: Program, failure: Failure) -> bool:
    """Return whether the labels that a loss refuses, or those of another batch there,
    have a 0 among them and none below: no label is to be one less.
    """
    place = program.trace.ops[failure.op].span
    least = [
        other.unmet.least
        for other in program.failures
        if other.unmet is not None and other.unmet.code == INDEX_OUT_OF_RANGE
        if program.trace.ops[other.op].span == place
    ]
    return min((number for number in least if number is not None), default=1) == 0
