"""Tensors that are joined or stacked along another dim than the one that is needed;
batches that are stacked where they are to be joined.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.numbers_and_names import replace_number
from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

JOINING = operators_with("concatenates")
MOST_SHOWN = 3
"""Dims that are tried of one call."""


def suggest_other_joined_dim(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.cat([a, b], dim=1)` for `torch.cat([a, b])` where joined along
    that dim the tensors have the size that is needed, and `torch.stack` likewise.

    A `split` or a layer behind it may have changed the size that is needed, so the
    numbers only say which dim comes first.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    needs = unmet.needs if unmet is not None else None
    for maker in (op, *iter_makers(program, op)):
        name = maker.name.rpartition(".")[2]
        if name not in JOINING and name != "stack":
            continue
        text_and_call = program.call_at(maker.span)
        if text_and_call is None or not maker.inputs:
            continue
        text, call = text_and_call
        written = [word.value for word in call.keywords if word.arg in ("dim", "axis")]
        written += call.args[1:2]
        now = evaluate_whole_number(written[0], SIGNED) if written else 0
        shapes = _list_shapes(maker)
        if now is None or not shapes or _is_of_samples(maker, now):
            continue
        rank = len(next(iter(shapes.values())))
        fitting = sorted(
            (dim for dim in shapes if dim != now % rank),
            key=lambda dim: needs not in shapes[dim],
        )
        for dim in fitting[:MOST_SHOWN]:
            if written:
                yield replace_number(text, written[0], str(dim))
            else:
                yield with_keyword(text, call, f"dim={dim}")
        return


def suggest_joined_batches(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.cat` for all calls of `torch.stack` in a statement, where the
    tensors differ in their number of rows, as a last batch does.
    """
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    if op.name.rpartition(".")[2] != "stack" or text_and_call is None:
        return
    if len({fact.shape[1:] for fact in op.inputs}) != 1 or not op.inputs[0].shape:
        return
    text, node = text_and_call
    edits = []
    for call in ast.walk(text.statement_of(node)):
        if not isinstance(call, ast.Call) or get_called_name(call) != "stack":
            continue
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        new = f"{text.written(owner)}.cat" if owner is not None else "torch.cat"
        edits.append(Edit(text.span(call.func), new))
    shown = "`cat` for each `stack`, of batches"
    if len(edits) == 1 and _is_of_batches(program, op):
        shown = f"`{edits[0].text}`"
    elif len(edits) < 2:
        return
    yield Fix("fits", shown, tuple(edits))


def _is_of_batches(program: Program, op: Op) -> bool:
    """Return whether a model gave the tensors that are joined, the last of them for a
    smaller batch.
    """
    counts = [fact.shape[0] for fact in op.inputs]
    if len({*counts[:-1]}) != 1 or counts[-1] >= counts[0]:
        return False
    return all(fact.requires_grad for fact in op.inputs) or any(
        short.usual == counts[0] for short in program.remainders
    )


def _is_of_samples(join: Op, dim: int) -> bool:
    """Return whether a call puts several samples, (1, ...), below each other: a batch,
    which no other dim would make.
    """
    sizes = {fact.shape[:1] for fact in join.inputs}
    is_cat = join.name.rpartition(".")[2] in JOINING
    return is_cat and dim == 0 and sizes == {(1,)} and len(join.inputs) > MOST_SHOWN


def _list_shapes(op: Op) -> dict[int, tuple[int, ...]]:
    """Return the shape of the output for each dim along which a call could join."""
    shapes = [fact.shape for fact in op.inputs]
    first, count = shapes[0], len(shapes)
    if op.name.rpartition(".")[2] == "stack":
        if any(shape != first for shape in shapes):
            return {}
        return {n: (*first[:n], count, *first[n:]) for n in range(len(first) + 1)}
    joined: dict[int, tuple[int, ...]] = {}
    for dim in range(len(first)):
        rests = {(*shape[:dim], *shape[dim + 1 :]) for shape in shapes}
        if len(rests) == 1 and all(len(shape) == len(first) for shape in shapes):
            size = sum(shape[dim] for shape in shapes)
            joined[dim] = (*first[:dim], size, *first[dim + 1 :])
    return joined
