"""Outputs of which a part is chosen by the wrong dim, or none is: the scores of one
place for those of all, boxes of all classes for those of one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import INDEX_OUT_OF_RANGE, TARGET_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

LOSSES = operators_with("is_loss")
CLASS_LOSSES = operators_with("takes_class_indices")


def suggest_scores_of_places(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `out[..., 0]` for `out[:, 0]` where the labels count the places."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or not op.inputs:
        return
    if op.name.rpartition(".")[2] not in CLASS_LOSSES:
        return
    maker = program.producers.get(op.inputs[0].tensor)
    place = program.node(maker.span) if maker is not None else None
    if maker is None or place is None or maker.name != "[]":
        return
    text, node = place
    items = node.slice if isinstance(node, ast.Subscript) else None
    written = text.written(items) if isinstance(items, ast.Tuple) else ""
    first, _, number = written.partition(", ")
    source = maker.inputs[0]
    if first == ":" and number.isdecimal() and source.ndim == 3 and items is not None:
        edit = Edit(text.span(items), f"..., {number}")
        assert isinstance(node, ast.Subscript)
        shown = f"{text.written(node.value)}[..., {number}]"
        yield Fix("fits", f"`{shown}`", (edit,))


def suggest_boxes_of_class(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `b.view(len(b), -1, 4)[torch.arange(len(b)), labels]` where a head has a
    box for each class and the target that of one.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) < 2:
        return
    mine, theirs = (fact.shape for fact in op.inputs[:2])
    if len(mine) != 2 or len(theirs) != 2 or mine[0] != theirs[0]:
        return
    width = theirs[1]
    place = program.node(op.span)
    expressions = find_tensor_expressions(program, op)
    node = expressions[0][0] if expressions and expressions[0] is not None else None
    if mine[1] <= width or width < 2 or mine[1] % width or place is None:
        return
    classes = mine[1] // width
    labels = _find_labels(program, place[0], place[1], classes)
    if not isinstance(node, ast.Name) or not labels:
        return
    name = node.id
    new = f"{name}.view(len({name}), -1, {width})[torch.arange(len({name})), {labels}]"
    yield Fix("fits", f"`{new}`", (Edit(place[0].span(node), new),))


def _find_labels(
    program: Program, text: SourceText, node: ast.AST, classes: int
) -> str:
    """Return the labels that a loss over as many classes gets in the same function."""
    scope = text.around(node, *FUNCTIONS) if isinstance(node, ast.expr) else None
    scope = scope or text.tree
    for call in ast.walk(scope) if scope is not None else ():
        if not isinstance(call, ast.Call) or len(call.args) < 2:
            continue
        span, label = text.span(call), call.args[1]
        is_of_classes = any(
            op.span == span
            and op.name.rpartition(".")[2] in CLASS_LOSSES
            and op.inputs[0].shape[-1:] == (classes,)
            for op in program.trace.ops
        )
        is_named = get_called_name(call) in LOSSES or is_of_classes
        if is_named and is_of_classes and isinstance(label, ast.Name):
            return label.id
    return ""
