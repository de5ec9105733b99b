"""Outputs of a model that are taken apart in another order than it returns them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import FUNCTIONS

LOSSES = operators_with("is_loss")


def suggest_other_outputs(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `age, gender, race = model(x)` for `age, race, gender = model(x)` where a
    loss gets one output with the labels of another.
    """
    op = program.trace.ops[failure.op]
    place = program.node(op.span)
    if op.name.rpartition(".")[2] not in LOSSES or place is None:
        return
    text, node = place
    scope = text.around(node, *FUNCTIONS) or text.tree
    expressions = find_tensor_expressions(program, op)
    first = expressions[0][0] if expressions and expressions[0] is not None else None
    if not isinstance(first, ast.Name) or scope is None:
        return
    for statement in ast.walk(scope):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else []
        if not isinstance(statement.value, ast.Call) or len(names) < 2:
            continue
        own = [getattr(name, "id", "") for name in names]
        if first.id not in own or not all(own):
            continue
        at = own.index(first.id)
        for other in range(len(names)):
            if other != at:
                new = list(own)
                new[at], new[other] = new[other], new[at]
                edits = (
                    Edit(text.span(names[at]), own[other]),
                    Edit(text.span(names[other]), own[at]),
                )
                shown = ", ".join(new)
                yield Fix("fits", f"`{shown} = {text.written(statement.value)}`", edits)
        return
