"""Tables of positions that are laid out (1, steps, features) where their rows are cut
by dim 0, as those of a sequence with the time first are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.position_edits import ORDERED, find_counted_dim
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import BROADCAST_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    get_own_attribute,
)
from shapewright.record.ops import Fact, Op


def suggest_turned_table(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `pe.unsqueeze(1)` for `pe.unsqueeze(0)` where the table is made, if it is
    cut by the first dim of a sequence with the time first; `pe[:, : x.size(1)]` where
    the layers take the batch first.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    for cut, other in zip(op.inputs, reversed(op.inputs), strict=True):
        maker = program.producers.get(cut.tensor)
        place = program.node(maker.span) if maker is not None else None
        if maker is None or place is None or not _is_cut_table(program, maker, other):
            continue
        text, node = place
        dim = find_counted_dim(node) if isinstance(node, ast.Subscript) else None
        if dim is None or not isinstance(node, ast.Subscript):
            continue
        flags = _list_layouts(program)
        if flags == {True} and not isinstance(node.slice, ast.Tuple):
            edits = (
                Edit(text.span(node.slice).start, ":, "),
                Edit(text.span(dim), "1"),
            )
            shown = text.written(node.slice).replace(
                text.written(dim), "1"
            )  # `: x.size(1)`
            new = f"{text.written(node.value)}[:, {shown}]"
            yield Fix("fits", f"`{join_lines(new)}`", edits)
        elif flags == {False} and _is_time_first(program, other):
            yield _write_turned_table(text, node)
        return


def _is_cut_table(program: Program, maker: Op, other: Fact) -> bool:
    """Return whether a call cuts a table (1, steps, features) of the model, which has
    more steps than the other operand has rows in dim 1.
    """
    table = maker.inputs[0] if maker.inputs else None
    return (
        maker.name == "[]"
        and table is not None
        and table.tensor in program.states
        and maker.outputs[0].shape == table.shape
        and len(table.shape) == len(other.shape) == len("TBC")
        and table.shape[0] == 1
        and table.shape[2] == other.shape[2]
        and table.shape[1] >= other.shape[0]
    )


def _list_layouts(program: Program) -> set[bool]:
    """Return whether the layers of sequences that a program builds are batch first."""
    flags = set()
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Call) or get_called_name(node) not in ORDERED:
                continue
            words = {word.arg: word.value for word in node.keywords}
            flag = words.get("batch_first", ast.Constant(False))
            known = [bool(flag.value)] if isinstance(flag, ast.Constant) else []
            flags.update(known or [True, False])
    return flags


def _is_time_first(program: Program, fact: Fact) -> bool:
    """Return whether what a sequence is made of has the batch in dim 0, and the
    sequence in dim 1: its dims were exchanged. Without a loader any may be meant.
    """
    waiting, seen = [fact], {fact.tensor}
    while waiting and len(seen) < MOST:
        maker = program.producers.get(waiting.pop(0).tensor)
        if maker is None or not maker.inputs:
            continue
        before, after = maker.inputs[0].shape, maker.outputs[0].shape
        is_turn = maker.name.rpartition(".")[2] in TURNING and len(after) > 1
        if is_turn and before[0] == after[1] == fact.shape[1]:
            return True
        new = [part for part in maker.inputs if part.tensor not in seen]
        seen.update(part.tensor for part in new)
        waiting += new
    return not any(
        get_called_name(node) == "DataLoader"
        for text in program.own_texts()
        for node in text.nodes
    )


TURNING = operators_with("transposes_dims") | {"permute"}
MOST = 400
"""Tensors before a sequence that are looked at."""


def _write_turned_table(text: SourceText, cut: ast.Subscript) -> Fix:
    """Return the edit that gives a table its rows in dim 0: where a dim is added to it,
    or where it is read.
    """
    added = _find_added_dim(text, get_own_attribute(cut.value))
    if added is None:
        new = f"{text.written(cut.value)}.transpose(0, 1)"
        return Fix("fits", f"`{new}`", (Edit(text.span(cut.value), new),))
    call, number = added
    owner = get_receiver(call)
    shown = f"{text.written(owner)}.unsqueeze(1)" if owner is not None else "1"
    return Fix("fits", f"`{join_lines(shown)}`", (Edit(text.span(number), "1"),))


def _find_added_dim(text: SourceText, name: str) -> tuple[ast.Call, ast.expr] | None:
    """Return the only `pe.unsqueeze(0)` that makes an attribute, and its 0."""
    stores = [
        node
        for node in text.nodes
        if isinstance(node, ast.Assign | ast.Call) and _is_store_of(node, name)
    ]
    if len(stores) != 1:
        return None
    scope = text.around(stores[0], *FUNCTIONS)
    read = {
        part.id for part in ast.walk(stores[0]) if isinstance(part, ast.Name)
    }  # `pe` of `register_buffer("pe", pe)`
    calls = []
    for part in ast.walk(scope) if scope is not None else ():
        if not isinstance(part, ast.Call) or get_called_name(part) != "unsqueeze":
            continue
        holder = text.statement_of(part)
        targets = holder.targets if isinstance(holder, ast.Assign) else []
        is_own = holder is text.statement_of(stores[0])
        if not is_own and not {get_last_name(target) for target in targets} & read:
            continue
        if len(part.args) == 1 and evaluate_whole_number(part.args[0]) == 0:
            calls.append((part, part.args[0]))
    return calls[0] if len(calls) == 1 else None


def _is_store_of(node: ast.AST, name: str) -> bool:
    """Return whether a node sets an attribute, or registers a buffer of its name."""
    if isinstance(node, ast.Assign):
        return any(get_own_attribute(target) == name for target in node.targets)
    if not isinstance(node, ast.Call) or not node.args:
        return False
    first = node.args[0]
    is_named = isinstance(first, ast.Constant) and first.value == name
    return is_named and get_called_name(node).startswith("register_")
