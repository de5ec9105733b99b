"""Edits of labels, of token ids and of numbers of classes that mean another class."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.stand_in_data import is_within
from shapewright.analysis.makers import is_compared, iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.refused_labels import MOST_MORE, find_refused_label
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span, is_installed
from shapewright.program.syntax_nodes import get_called_name

CLASS_LOSSES = operators_with("takes_class_indices")
SHIFTED = re.compile(r"[-+] ?1$")


def is_of_other_labels(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether labels or tokens would be others than the rest of the program
    takes them for.
    """
    return (
        _is_of_compared_labels(program, failure, fix)
        or _is_of_other_tokens(program, failure, fix)
        or is_of_unsqueezed_scores(program, failure, fix)
    )


def is_of_unsqueezed_scores(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether scores of classes would get a dim of 1 behind, to suit labels that
    have one too many, or be repeated for more classes.
    """
    op = program.trace.ops[failure.op]
    if op.name.rpartition(".")[2] not in CLASS_LOSSES or len(op.inputs) < 2:
        return False
    if any(".expand(" in edit.text for edit in fix.edits):
        return True  # one score for all classes
    has_more = op.inputs[1].ndim >= op.inputs[0].ndim
    return has_more and any(edit.text.startswith(".unsqueeze(") for edit in fix.edits)


def is_of_fractions(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether targets that the data say are fractions would become whole numbers
    of classes: `y.long()` of what a scaler has brought between 0 and 1.
    """
    op = program.trace.ops[failure.op]
    if op.name.rpartition(".")[2] not in CLASS_LOSSES or len(op.inputs) < 2:
        return False
    if not any(TO_WHOLE.search(edit.text) for edit in fix.edits):
        return False
    target = op.inputs[1]
    facts = [target]
    for maker in iter_first_makers(program, target):
        facts += [*maker.outputs, *maker.inputs]
    for fact in facts:
        known = program.data_values.get(fact.tensor)
        if known is not None and any(value % 1 for value in known.quantiles):
            return True
    return False


TO_WHOLE = re.compile(r"\.long\(\)|int64|\.int\(\)")


def _is_of_compared_labels(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether the labels of a loss alone would be others, which the program
    compares with predictions too, as they are.
    """
    op = program.trace.ops[failure.op]
    if op.name.rpartition(".")[2] not in CLASS_LOSSES or len(op.inputs) < 2:
        return False
    places = find_tensor_expressions(program, op)
    where = program.node(op.span)
    if where is None or len(places) < 2 or places[1] is None:
        return False
    labels = where[0].span(places[1][0])
    is_changed = any(
        is_within(edit.span, [labels]) and SHIFTED.search(edit.text)
        for edit in fix.edits
    )
    return is_changed and is_compared(program, op.inputs[1])


def _is_of_other_tokens(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether a model of a library would look up other tokens: `ids - 1`."""
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if built is None or built.span is None or not is_installed(built.span.file):
        return False
    is_lookup = op.name.rpartition(".")[2].startswith("embedding")
    return is_lookup and any(SHIFTED.search(edit.text) for edit in fix.edits)


def is_of_more_classes(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether a number is replaced by a larger one than the labels of a loss ask
    for.
    """
    refused = find_refused_label(program, failure)
    return refused is not None and any(
        edit.text.isdecimal() and int(edit.text) > refused[0] + 1 for edit in fix.edits
    )


LAYERS = re.compile(r"Linear|Conv\w+d|LSTM|GRU|RNN")


def is_of_other_features(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether a layer would take other features for the sake of labels that a
    loss refuses: only what it returns counts classes.
    """
    if find_refused_label(program, failure) is None:
        return False
    for edit in fix.edits:
        place = program.node(edit.span)
        for outer in place[0].outwards(place[1]) if place is not None else ():
            if place is None or not isinstance(outer, ast.Call) or not outer.args:
                continue
            first = place[0].span(outer.args[0])
            is_layer = LAYERS.fullmatch(get_called_name(outer)) is not None
            if is_layer and is_within(edit.span, [first]):
                return True
    return False


def is_of_many_classes(program: Program, fix: Fix) -> bool:
    """Return whether a number is replaced by one that is much larger."""
    for edit in fix.edits:
        text = program.text(edit.span.file)
        before = read_number(text, edit.span)
        if edit.text.isdecimal() and before and int(edit.text) > before + MOST_MORE:
            return True
    return False


def read_number(text: SourceText | None, span: Span) -> int:
    """Return the number that stands at a span, 0 if another thing does."""
    written = text.at(span) if text is not None else ""
    return int(written) if written.isdecimal() else 0
