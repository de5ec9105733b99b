"""Edits for losses of numbers that are given classes: the loss of classes, and the
scores in place of their argmax.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    list_arguments,
)
from shapewright.record.ops import Op

OF_NUMBERS = operators_with("warns_of_shapes")
"""Losses of the distance between two numbers."""
ACTIVATIONS = frozenset(values_of("gives_values"))
FLOATS = ("float", "double", "half")
MODULES = ("torch", "F", "nn.functional", "torch.nn.functional")
LAYER, FUNCTION = "CrossEntropyLoss", "cross_entropy"


def suggest_class_loss(program: Program, loss: Op, decision: Op) -> Iterator[Fix]:
    """Suggest `nn.CrossEntropyLoss()` of the scores, where a loss of numbers gets the
    largest of them, which has no gradient, and the classes.
    """
    place, written = program.call_at(loss.span), program.node(decision.span)
    if place is None or written is None or not _is_of_classes(program, loss, decision):
        return
    (text, call), (other, node) = place, written
    operands = list_arguments(call)[:2]
    built = _find_built(program, loss)
    if other is not text or built is None or len(operands) < 2:
        return
    if not isinstance(node, ast.Call):
        return
    scores = _get_scores(node)
    if scores is None or not get_dotted_name(scores):
        return
    calls = [
        other
        for other in text.nodes
        if isinstance(other, ast.Call)
        and text.written(other.func) == text.written(call.func)
    ]
    if len(calls) > 1 and built is not call:
        return  # the loss is given something else, too
    names = _list_targets(text, node)
    guess, target = operands
    if not any(
        part is node or (isinstance(part, ast.Name) and part.id in names)
        for part in ast.walk(guess)
    ):
        return
    name = LAYER if get_called_name(built).endswith("Loss") else FUNCTION
    owner, dot, _ = text.written(built.func).rpartition(".")
    class_target = _write_classes(text, target)
    edits = [
        Edit(text.span(guess), text.written(scores)),
        Edit(text.span(target), class_target),
        Edit(text.span(built.func), f"{owner}{dot}{name}"),
    ]
    if not dot:
        return  # another name would have to be imported
    new = f"{text.written(call.func)}({text.written(scores)}, {class_target})"
    if built is call:
        new = f"{owner}.{name}({text.written(scores)}, {class_target})"
        yield Fix("fits", f"`{join_lines(new)}`", tuple(edits))
        return
    other_loss = f"`{owner}.{name}` for `{text.written(built.func)}`"
    yield Fix("fits", f"{other_loss}, and `{join_lines(new)}`", tuple(edits))


def _is_of_classes(program: Program, loss: Op, decision: Op) -> bool:
    """Return whether a loss of numbers gets the largest of several scores of each
    sample, as the number of a class, and classes that were whole numbers.
    """
    if loss.name.rpartition(".")[2] not in OF_NUMBERS or len(loss.inputs) < 2:
        return False
    if decision.name.rpartition(".")[2] not in ("argmax", "max"):
        return False
    scores, target = decision.inputs[0], loss.inputs[1]
    maker = program.producers.get(scores.tensor)
    if maker is not None and maker.name.rpartition(".")[2] in ACTIVATIONS:
        return False
    if scores.shape[:1] + scores.shape[2:] != target.shape or scores.ndim < 2:
        return False
    cast = program.producers.get(target.tensor)
    whole = cast.inputs[0] if cast is not None and cast.inputs else target
    return "int" in whole.dtype or "int" in target.dtype


def _find_built(program: Program, loss: Op) -> ast.Call | None:
    """Return the call that builds the layer of a loss, or that of its function."""
    layer = program.layer(loss)
    if layer is not None and layer.path in program.built:
        place = program.call_at(program.built[layer.path].span)
    else:
        place = program.call_at(loss.span)
    return place[1] if place is not None and not place[1].args[2:] else None


def _get_scores(node: ast.Call) -> ast.expr | None:
    """Return the scores of `torch.argmax(scores, 1)` and of `scores.argmax(1)`."""
    func = node.func
    owner = get_dotted_name(func.value) if isinstance(func, ast.Attribute) else ""
    if isinstance(func, ast.Attribute) and owner not in MODULES:
        return func.value
    return node.args[0] if node.args else None


def _list_targets(text: SourceText, node: ast.expr) -> set[str]:
    """Return the names that a statement sets to a decision."""
    statement = text.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {
        part.id
        for target in targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name)
    }


def _write_classes(text: SourceText, target: ast.expr) -> str:
    """Write the classes without their cast to floats."""
    func = target.func if isinstance(target, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr in FLOATS:
        return text.written(func.value)
    return text.written(target)
