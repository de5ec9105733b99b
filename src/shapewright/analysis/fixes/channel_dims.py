"""Dims for what each channel of maps has: `(x - mean[:, None, None]) / std[...]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.scope_tensors import list_scope_facts
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import get_last_name


def suggest_channel_dims(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest dims behind the channels, for all operands of a statement that have one
    number for each channel.
    """
    op = program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    if text_and_node is None or len(op.inputs) != 2:
        return
    text, node = text_and_node
    maps, small = sorted(op.inputs, key=lambda fact: -fact.ndim)
    if maps.ndim < 3 or small.ndim != 1 or not isinstance(node, ast.BinOp):
        return
    if maps.shape[1] != small.shape[0] or maps.shape[-1] == small.shape[0]:
        return
    shapes = {
        name: fact.shape
        for name, fact in list_scope_facts(program, op, text, node).items()
    }
    for state in program.trace.states:
        shapes.setdefault(state.path.rpartition(".")[2], state.fact.shape)
    own = node.right if op.inputs[1] is small else node.left
    operands = [
        operand
        for part in ast.walk(text.statement_of(node))
        if isinstance(part, ast.BinOp)
        for operand in (part.left, part.right)
        if isinstance(operand, ast.Name | ast.Attribute)
        and (operand is own or shapes.get(get_last_name(operand)) == small.shape)
    ]
    if own not in operands:
        return
    operands.sort(key=lambda operand: (operand.lineno, operand.col_offset))
    method = f"[:, {', '.join(['None'] * (maps.ndim - 2))}]"
    shown = " and ".join(f"`{text.written(operand)}{method}`" for operand in operands)
    edits = tuple(Edit(text.span(operand).end, method) for operand in operands)
    yield Fix("fits", shown, edits)
