"""Edits for the states that recurrent layers hand to one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import iter_arguments
from shapewright.findings.codes import HIDDEN_STATE_SHAPE
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import get_dotted_name
from shapewright.record.ops import Fact, Op

RECURRENT = operators_with("is_recurrent")
FARTHEST = 12
"""Calls between a layer that returns a state and the layer that takes it."""


def suggest_joined_directions(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the sum of both directions where a layer that reads in both hands its
    state to one that reads in one: `hidden = hidden.unflatten(0, (-1, 2)).sum(1)`.
    """
    unmet = failure.unmet
    _, got = find_sides(failure)
    if unmet is None or unmet.code != HIDDEN_STATE_SHAPE or got is None or got[1]:
        return
    op = program.trace.ops[failure.op]
    layer = _find_two_way_layer(program, op.inputs[got[0]])
    if layer is None:
        return
    text_and_node = program.node(layer.span)
    if text_and_node is None:
        return
    text, node = text_and_node
    statement = text.statement_of(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return
    state = target.elts[1]
    names = state.elts if isinstance(state, ast.Tuple) else [state]
    written = [get_dotted_name(name) for name in names]
    if not all(written):
        return
    sums = [f"{name}.unflatten(0, (-1, 2)).sum(1)" for name in written]
    new = f"{', '.join(written)} = {', '.join(sums)}"
    yield Fix("fits", f"`{new}`", (write_after(text, statement, new),))


def _find_two_way_layer(program: Program, fact: Fact) -> Op | None:
    """Return the call of a bidirectional layer that a state comes from."""
    for _ in range(FARTHEST):
        op = program.producers.get(fact.tensor)
        if op is None or not op.inputs:
            return None
        if op.name.rpartition(".")[2] in RECURRENT:
            layer = program.layer(op)
            arguments = iter_arguments(program, layer.path) if layer is not None else ()
            is_two_way = any(
                name == "bidirectional" and value is True
                for name, _, value in arguments
            )
            return op if is_two_way else None
        fact = op.inputs[0]
    return None
