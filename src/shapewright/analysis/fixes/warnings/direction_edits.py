"""Edits that join the last states of both directions of a recurrent layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name

ONE_DIRECTION = "of the backward direction alone"
LINEAR = "linear"
FARTHEST = 64
"""Calls behind the state that are looked at."""


def suggest_both_directions(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `torch.cat([h[-2], h[-1]], dim=-1)`, with a layer of twice the features
    behind it.
    """
    if ONE_DIRECTION not in finding.message or not isinstance(node, ast.Subscript):
        return
    states = text.written(node.value)
    new = f"torch.cat([{states}[-2], {states}[-1]], dim=-1)"
    edit = Edit(text.span(node), new)
    place = program.call_at(_find_reader(program, finding))
    if place is None:
        return
    where, call = place
    if get_called_name(call) != "Linear" or not call.args:
        return
    width = call.args[0]
    written = where.written(width)
    wider = f"2 * ({written})" if isinstance(width, ast.BinOp) else f"2 * {written}"
    if isinstance(width, ast.Constant) and type(width.value) is int:
        wider = str(2 * width.value)
    edits = (edit, Edit(where.span(width), wider))
    yield Fix("fits", f"`{new}` and `nn.Linear({wider}, ...)`", edits)


def _find_reader(program: Program, finding: Finding) -> Span | None:
    """Return where the linear layer is built that reads a state, or None."""
    op = program.op_at(finding.span, finding.module)
    read = {fact.tensor for fact in op.outputs} if op is not None else set()
    for other in program.trace.ops[op.index + 1 :][:FARTHEST] if op is not None else ():
        if not any(fact.tensor in read for fact in other.inputs):
            continue
        if other.name.rpartition(".")[2] == LINEAR:
            layer = program.layer(other)
            built = program.built.get(layer.path) if layer is not None else None
            return built.span if built is not None else None
        read |= {fact.tensor for fact in other.outputs}
    return None
