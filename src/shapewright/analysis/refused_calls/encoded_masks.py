"""Masks with a channel for each class already, which `one_hot` encodes again."""

from __future__ import annotations

import ast

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.codes import BROADCAST_MISMATCH
from shapewright.findings.finding import Explanation, Finding, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, is_starred, list_parameters
from shapewright.record.ops import Fact, Op

NEAR = 6
SAME = ("view", "same", "copy")


def find_encoded_mask(program: Program, finding: Finding) -> Explanation | None:
    """Return which mask of one channel for each class was encoded again, or None."""
    op = program.op_at(finding.span, finding.module)
    if finding.code != BROADCAST_MISMATCH or op is None or finding.span is None:
        return None
    refused = next(
        (
            program.trace.ops[failure.op]
            for failure in program.failures
            if program.trace.ops[failure.op].span == finding.span
        ),
        None,
    )
    for fact in refused.inputs if refused is not None else ():
        for maker in iter_first_makers(program, fact, NEAR):
            if maker.name.rpartition(".")[2] != "one_hot" or not maker.inputs:
                continue
            mask = _find_encoded(program, maker)
            if mask is None or not _is_of_classes(program, mask):
                continue
            place = _find_argument(program, mask)
            place = place or _find_handed(program, maker)
            if place is None or maker.span is None:
                continue
            text, node = place
            name = join_lines(text.written(node))
            message = (
                f"`{name}` {format_shape(mask)} has a channel for each of the"
                f" {mask.shape[1]} classes already, and `one_hot` expects the number of"
                " the class: it encodes each 0 and 1 of them again"
            )
            places = (
                Related(maker.span, "it is encoded here"),
                Related(text.span(node), "the mask is handed on here"),
            )
            cast = ".int()" if mask.dtype == "bool" else ""
            fix = append_method(text, node, f"{cast}.argmax(dim=1)")
            return Explanation(message, places, (fix,))
    return None


def _find_encoded(program: Program, op: Op) -> Fact | None:
    """Return the mask that `one_hot` is given the elements of, if its dim 1 has a place
    for each class.
    """
    arguments = dict(op.arguments)
    classes = arguments.get("1", arguments.get("num_classes"))
    fact = op.inputs[0]
    for _ in range(NEAR):
        if len(fact.shape) > 2 and fact.shape[1] == classes:
            source = program.producers.get(fact.tensor)
            inner = source.inputs[:1] if source is not None else ()
            if not any(other.shape == fact.shape for other in inner):
                return fact
        maker = program.producers.get(fact.tensor)
        if maker is None or len(maker.inputs) != 1 or maker.kind not in SAME:
            return None
        fact = maker.inputs[0]
    return None


COLOURS = 3


def _is_of_classes(program: Program, mask: Fact) -> bool:
    """Return whether the channels of a mask can be no colours: they are not three, or
    the mask was compared with numbers.
    """
    values = program.data_values.get(mask.tensor)
    highest = values.highest if values is not None else None
    if mask.dtype == "bool" or (highest is not None and highest <= 1):
        return True
    return mask.shape[1] != COLOURS


def _find_handed(program: Program, op: Op) -> tuple[SourceText, ast.expr] | None:
    """Return what the caller of a function gives for the parameter that it encodes."""
    place = program.call_at(op.span)
    if place is None or len(op.frames) < 2 or not place[1].args:
        return None
    base: ast.expr = place[1].args[0]
    while isinstance(base, ast.Call | ast.Attribute):
        base = base.func if isinstance(base, ast.Call) else base.value
    names = list_parameters(place[0].around(place[1], *FUNCTIONS))
    caller = program.call_at(op.frames[-2].span)
    if caller is None or not isinstance(base, ast.Name) or base.id not in names:
        return None
    at = names.index(base.id)
    if at < len(caller[1].args) and names[0] != "self" and not is_starred(caller[1]):
        return caller[0], caller[1].args[at]
    words = [word.value for word in caller[1].keywords if word.arg == base.id]
    return (caller[0], words[0]) if words else None


def _find_argument(program: Program, mask: Fact) -> tuple[SourceText, ast.expr] | None:
    """Return how the program writes a mask in the call of its loss."""
    for call in program.trace.calls:
        args, keywords = call.inputs
        place = program.call_at(call.span)
        if place is None:
            continue
        for at, value in enumerate(args):
            is_mask = isinstance(value, Fact) and value.tensor == mask.tensor
            if is_mask and at < len(place[1].args):
                return place[0], place[1].args[at]
        for word in place[1].keywords:
            value = keywords.get(word.arg or "")
            if isinstance(value, Fact) and value.tensor == mask.tensor:
                return place[0], word.value
    return None
