"""Crops: a table, a mask or an edge that is longer than what it meets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.suspect_lines import iter_other_operands
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import INDEX_OUT_OF_RANGE, WRITTEN_SHAPE
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.record.ops import Fact, collect_leaves

FILLS = operators_with("takes_mask")
"""Operators that fill a tensor where a mask says so."""


def fix_larger_tensor(program: Program, failure: Failure, table: bool) -> Iterator[Fix]:
    """Cut a table or a mask to the size of its counterpart: `pos[:, :x.size(1)]`.

    `table`: only what is no work of the input; else only what is.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if len(op.inputs) != 2:
        return
    if unmet is not None and unmet.code == INDEX_OUT_OF_RANGE:
        return  # what is left of the indices may be as large
    node = program.node(op.span)
    places = find_tensor_expressions(program, op)
    for at, place in enumerate(places):
        mine, other = op.inputs[at], op.inputs[1 - at]
        lacking = _find_larger_dims(mine, other)
        if place is None or node is None or not lacking:
            continue
        if at == 0 and op.name.rpartition(".")[2] in FILLS:
            continue  # the scores are whole, the mask is not
        if _is_table(program, mine) != table or _is_of_other_axis(mine, other, lacking):
            continue
        if not table and not _is_trimmed(mine, other, lacking):
            continue
        known = iter_other_operands(program, failure, at)
        items = []
        for dim in range(max(lacking) + 1):
            if dim not in lacking:
                items.append(":")
                continue
            back = dim - len(mine.shape)
            size = str(other.shape[back])
            if known is not None:
                size = f"{known[1]}.size({back})"
            items.append(f":{size}")
        yield append_method(node[0], place[0], f"[{', '.join(items)}]")


def suggest_fitting_part(program: Program, failure: Failure) -> Iterator[Fix]:
    """Cut what is written into a part of a tensor that has one place less, as every
    second column of an odd number has: `pe[:, 1::2] = angles.cos()[:, : width // 2]`.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != WRITTEN_SHAPE or len(op.inputs) < 2:
        return
    text_and_node = program.node(op.span)
    place = find_tensor_expressions(program, op)[-1]
    statement = (
        text_and_node[0].statement_of(text_and_node[1]) if text_and_node else None
    )
    if text_and_node is None or not isinstance(statement, ast.Assign):
        return
    text = text_and_node[0]
    target, value = statement.targets[0], statement.value
    steps = _list_steps(target)
    whole, part = op.inputs[0].shape, op.inputs[-1].shape
    if len(steps) > len(whole) or len(part) != len(whole):
        return
    for dim, step in enumerate(steps):
        if step is None or step[1] < 2:
            continue
        room = len(range(*slice(step[0], None, step[1]).indices(whole[dim])))
        if part[dim] != room + 1:
            continue
        size = f":{text.written(target)}.size({dim})"
        items = ", ".join([":"] * dim + [size])
        node = place[0] if place is not None else value
        yield append_method(text, node, f"[{items}]")


def _list_steps(target: ast.expr) -> list[tuple[int, int] | None]:
    """Return the start and the step of every slice of a subscript."""
    if not isinstance(target, ast.Subscript):
        return []
    items = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    steps: list[tuple[int, int] | None] = []
    for item in items:
        if not isinstance(item, ast.Slice):
            return []
        start = evaluate_whole_number(item.lower) if item.lower is not None else 0
        step = evaluate_whole_number(item.step) if item.step is not None else 1
        known = start is not None and step is not None and item.upper is None
        steps.append((start or 0, step or 1) if known else None)
    return steps


def _is_of_other_axis(mine: Fact, other: Fact, lacking: list[int]) -> bool:
    """Return whether the size of a dim that is too long is that of another dim of the
    other tensor, or the shorter one that of another dim of this one: the axes lie in
    another order, and what is cut is not a rest.
    """
    alike = len(mine.shape) == len(other.shape) and all(
        size == other.shape[dim] or dim in lacking
        for dim, size in enumerate(mine.shape)
    )
    if alike:
        return False
    for dim in lacking:
        back = dim - len(mine.shape)
        theirs = list(other.shape)
        size = theirs.pop(back)
        ours = [own for at, own in enumerate(mine.shape) if at != dim]
        if mine.shape[dim] in theirs:
            return True
        if len(mine.shape) > len(other.shape) and size in ours:
            return True
    return False


def _is_table(program: Program, fact: Fact) -> bool:
    """Return whether a tensor is computed from no data, as a parameter or a mask is:
    from nothing that the program or its script gives to a model.
    """
    data = _collect_data(program)
    waiting, seen = [fact], {fact.tensor}
    while waiting:
        ancestor = waiting.pop()
        if ancestor.tensor in program.states:
            continue
        if ancestor.tensor in data:
            return False
        maker = program.producers.get(ancestor.tensor)
        if maker is None:
            continue
        new = [operand for operand in maker.inputs if operand.tensor not in seen]
        seen.update(operand.tensor for operand in new)
        waiting += new
    return True


def _collect_data(program: Program) -> set[int]:
    """Return the tensors that the models of a program are given."""
    calls = program.trace.calls
    script = bool(calls) and not any(calls[0].inputs)
    return {
        leaf.tensor
        for call in calls
        if call.parent is None or (script and call.parent == 0)
        for value in (*call.inputs[0], *call.inputs[1].values())
        for leaf in collect_leaves(value)
    }


def _is_trimmed(mine: Fact, other: Fact, lacking: list[int]) -> bool:
    """Return whether a tensor exceeds another one by the edges that convolutions and
    windows leave over, in dims that are neither the batch nor the channels.
    """
    return all(
        dim > 1 and other.shape[dim - len(mine.shape)] >= SHARE_KEPT * mine.shape[dim]
        for dim in lacking
    )


SHARE_KEPT = 0.75
"""How much of a dim a crop leaves: the edges of a few convolutions without padding."""


def _find_larger_dims(mine: Fact, other: Fact) -> list[int]:
    """Return the dims that are longer than another tensor's; empty if any of them is
    shorter.
    """
    larger_dims = []
    for back in range(1, min(len(mine.shape), len(other.shape)) + 1):
        own_size, other_size = mine.shape[-back], other.shape[-back]
        if own_size == other_size or 1 in (own_size, other_size):
            continue
        if own_size < other_size:
            return []
        larger_dims.append(len(mine.shape) - back)
    return larger_dims
