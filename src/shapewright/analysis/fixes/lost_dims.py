"""Dims that a program removed and a later call needs: the features that were summed in
place of the items, the batch of one that an index took off.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from shapewright.analysis.fixes.numbers_and_names import replace_number
from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    EINSUM_SIZES,
    INNER_DIM_MISMATCH,
    JOINED_SIZES_DIFFER,
    MASK_SHAPE,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

REDUCING = operators_with("reduces_dims", "returns_indices")
OF_TWO_SIZES = frozenset({
    BATCH_DIM_MISMATCH, BROADCAST_MISMATCH, EINSUM_SIZES, JOINED_SIZES_DIFFER,
    MASK_SHAPE, TARGET_SHAPE,
})  # fmt: skip
"""Codes of calls whose operands have two sizes where one is needed."""


def suggest_other_reduced_dim(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.sum(0)` for `x.sum(1)` where the dim that is summed has as many
    elements as are needed, and what is left has as many as came.
    """
    op = program.trace.ops[failure.op]
    for maker in iter_makers(program, op):
        if maker.name.rpartition(".")[2] not in REDUCING or not maker.inputs:
            continue
        shape = maker.inputs[0].shape
        dim = _get_dim(maker)
        text_and_call = program.call_at(maker.span)
        if dim is None or text_and_call is None or not -len(shape) <= dim < len(shape):
            continue
        dim %= len(shape)
        kept = len(maker.outputs[0].shape) == len(shape)
        others = [
            other
            for needs, has in _list_sizes(failure, op)
            for other in range(len(shape))
            if other != dim
            and shape[dim] == needs
            and (shape[other] == has or (kept and has == 1))
        ]
        whole = prod(shape)
        others += [  # of what is flattened
            other
            for needs, has in _list_sizes(failure, op)
            for other in range(len(shape))
            if not kept
            and shape[other] != shape[dim]
            and (whole // shape[dim], whole // shape[other])
            in ((has, needs), (needs, has))
        ]
        text, call = text_and_call
        words = [word.value for word in call.keywords if word.arg in ("dim", "axis")]
        places = [
            node
            for node in (*words, *call.args)
            if (number := evaluate_whole_number(node, SIGNED)) is not None
            and number % len(shape) == dim
        ]
        if places and not others and _is_of_pixels(failure, op, maker, dim):
            yield replace_number(text, places[0], "(-2, -1)")
            return
        if places and others:
            for other in dict.fromkeys(others):
                fixes = [
                    replace_number(text, place, str(other))
                    for place in (places[0], *_list_beside(text, call, places[0]))
                ]
                edits = tuple(edit for fix in fixes for edit in fix.edits)
                shown = " and ".join(dict.fromkeys(fix.message for fix in fixes))
                yield Fix(fixes[0].grade, shown, edits)
            return


def _list_beside(text: SourceText, call: ast.Call, place: ast.expr) -> list[ast.expr]:
    """Return the same dim of the other calls of the same reduction in a statement, as
    in a mean that a mask weighs: `(x * w).sum(0) / w.sum(0)`.
    """
    written = text.written(place)
    others = [
        node
        for node in ast.walk(text.statement_of(call))
        if isinstance(node, ast.Call)
        and node is not call
        and get_called_name(node) == get_called_name(call)
    ]
    return [
        value
        for node in others
        for value in (*node.args, *(word.value for word in node.keywords))
        if text.written(value) == written
    ]


def _is_of_pixels(failure: Failure, op: Op, maker: Op, dim: int) -> bool:
    """Return whether one of the two dims of a map's pixels is reduced for a layer that
    takes the channels.
    """
    shape = maker.inputs[0].shape
    unmet = failure.unmet
    if unmet is None or unmet.code != INNER_DIM_MISMATCH or len(op.inputs) < 2:
        return False
    is_map = len(shape) == len(maker.outputs[0].shape) + 1 == 4
    return is_map and dim > 1 and shape[1] == op.inputs[1].shape[-1]


def _list_sizes(failure: Failure, op: Op) -> list[tuple[int, int]]:
    """Return the sizes that may have been needed, each with the one that came."""
    unmet = failure.unmet
    if unmet is None:
        return []
    if unmet.code == INNER_DIM_MISMATCH and len(op.inputs) > 1:
        wanted, got = op.inputs[1].shape[-1:], op.inputs[0].shape[-1:]
        return list(zip(wanted, got, strict=True))
    if unmet.code not in OF_TWO_SIZES:
        return []
    if not isinstance(unmet.needs, int) or not isinstance(unmet.has, int):
        return []
    return [(unmet.needs, unmet.has), (unmet.has, unmet.needs)]


def suggest_whole_output(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `net(x)` for `net(x)[0]`, which takes a batch of one off an output that
    meets a tensor with its batch, or the first sample of as many as that has.
    """
    for text, node, _ in _iter_first_samples(program, failure):
        span, end = text.span(node), text.span(node.value).end
        cut = replace(end, end_line=span.end_line, end_column=span.end_column)
        shown = join_lines(text.written(node.value))
        yield Fix("fits", f"`{shown}` without `[0]`", (Edit(cut, ""),))


def describe_first_sample(program: Program, failure: Failure) -> Related | None:
    """Return the note where the first of several samples is taken off an output."""
    for text, node, fact in _iter_first_samples(program, failure):
        count, name = fact.shape[0], join_lines(text.written(node.value))
        if count > 1:
            shape = format_shape(fact)
            words = f"`[0]` takes the first of {count} samples of `{name}` {shape}"
            return Related(text.span(node), words)
    return None


def _iter_first_samples(
    program: Program, failure: Failure
) -> Iterator[tuple[SourceText, ast.Subscript, Fact]]:
    """Yield `net(x)[0]` behind a failing call, with what `net(x)` is, if that is a
    batch of one or has as many samples as another operand.
    """
    op = program.trace.ops[failure.op]
    batches = {(1,), *(fact.shape[:1] for fact in op.inputs)} - {()}
    seen: set[Span] = set()
    for maker in iter_makers(program, op):
        text_and_node = program.node(maker.span) if maker.name == "[]" else None
        if text_and_node is None or not maker.inputs:
            continue
        text, node = text_and_node
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Call):
            continue
        is_first = evaluate_whole_number(node.slice) == 0
        span, fact = text.span(node), maker.inputs[0]
        if is_first and fact.shape[:1] in batches and span not in seen:
            seen.add(span)
            yield text, node, fact


def _get_dim(op: Op) -> int | None:
    """Return the single dim along which a call reduces."""
    for name, value in op.arguments:
        if name in ("dim", "1") and type(value) is int:
            return value
    return None
