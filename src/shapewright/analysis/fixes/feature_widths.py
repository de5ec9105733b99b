"""Features of two networks that are compared although one has more of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import BROADCAST_MISMATCH, TARGET_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

LOSSES = operators_with("is_loss")
NAMES = ("projection", "feature_projection", "to_teacher")
OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "NAdam", "RAdam")


def suggest_projection(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a linear layer for the features of a student, trained with it, where they
    are compared with the wider ones of its teacher.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in (TARGET_SHAPE, BROADCAST_MISMATCH):
        return
    if op.name.rpartition(".")[2] not in LOSSES or len(op.inputs) < 2:
        return
    mine, theirs = op.inputs[:2]
    is_of_teacher = mine.requires_grad and not theirs.requires_grad
    if mine.shape[:-1] != theirs.shape[:-1] or mine.ndim < 2 or not is_of_teacher:
        return
    if theirs.dtype != mine.dtype or not _is_of_network(program, theirs.tensor):
        return
    place = program.node(op.span)
    expressions = find_tensor_expressions(program, op)
    node = expressions[0][0] if expressions and expressions[0] is not None else None
    if place is None or node is None:
        return
    text = place[0]
    scope = text.around(place[1], *FUNCTIONS) or text.tree
    if "nn." not in text.text or scope is None:
        return
    used = {part.id for part in text.nodes if isinstance(part, ast.Name)}
    name = next(way for way in (*NAMES, "layer_of_features") if way not in used)
    for statement in ast.walk(scope):
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
            continue
        if get_called_name(value) not in OPTIMIZERS or not value.args:
            continue
        new = f"{name} = nn.Linear({mine.shape[-1]}, {theirs.shape[-1]})"
        parameters = text.written(value.args[0])
        both = f"[*{parameters}, *{name}.parameters()]"
        edits = (
            write_before(text, statement, new),
            Edit(text.span(value.args[0]), both),
            Edit(text.span(node), f"{name}({text.written(node)})"),
        )
        shown = f"`{name}({text.written(node)})`, with `{new}` in the optimizer"
        yield Fix("fits", shown, edits)
        return


def _is_of_network(program: Program, tensor: int) -> bool:
    """Return whether a tensor is what a module returns."""
    maker = program.producers.get(tensor)
    return maker is not None and bool(maker.module)
