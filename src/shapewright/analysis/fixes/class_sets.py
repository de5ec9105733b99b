"""Several classes of a sample, listed by their numbers, where a loss takes a truth
value for each class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import TARGET_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.record.ops import Fact

BINARY = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits"})
PASSING = operators_with("joins_tensors", "moves_device") | {"to", "float", "long"}
FARTHEST = 6
"""Calls between data and the loss."""


def suggest_truths_of_classes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.one_hot(y.long(), 5).sum(1).float()` for targets that list the numbers
    of the classes of each sample.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) < 2:
        return
    if op.name.rpartition(".")[2] not in BINARY:
        return
    prediction, target = op.inputs[:2]
    if prediction.ndim != 2 or target.ndim != 2:
        return
    classes = prediction.shape[1]
    if prediction.shape[0] != target.shape[0] or not _find_largest(program, target) > 1:
        return
    if _find_largest(program, target) >= classes:
        return
    places = find_tensor_expressions(program, op)
    whole = program.node(op.span)
    if whole is None or len(places) < 2 or places[1] is None:
        return
    node, written = places[1][0], places[1][1]
    count = str(classes)
    if places[0] is not None and isinstance(places[0][0], ast.Name):
        count = f"{places[0][0].id}.size(1)"
    long = written if target.dtype == "int64" else f"{written}.long()"
    new = f"torch.nn.functional.one_hot({long}, {count}).sum(1).float()"
    for short, line in (("F", "functional as F"), ("nn.functional", "import nn")):
        if line in whole[0].text:
            new = new.replace("torch.nn.functional", short)
            break
    yield Fix("fits", f"`{new}`", (Edit(whole[0].span(node), new),))


def _find_largest(program: Program, fact: Fact) -> float:
    """Return the largest number of the data that a target is made of, 0 if they are not
    known or have fractions.
    """
    for _ in range(FARTHEST):
        values = program.data_values.get(fact.tensor)
        if values is not None:
            known = [*values.quantiles, *(values.limits or ())]
            if known and any(not float(value).is_integer() for value in known):
                return 0.0
            return float(max([*known, values.highest or 0]))
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return 0.0
        if maker.name.rpartition(".")[2] not in PASSING:
            return 0.0
        fact = maker.inputs[0]
    return 0.0
