"""Find weights that the program gives a layer on purpose, of a filter or a table, and
that are drawn at random before anything has used them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOADED_WEIGHTS_LOST
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_line,
    get_own_attribute,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

RANDOM = operators_with("is_random")
DRAWS = RANDOM & operators_with("overwrites_all")
UNSET = operators_with("leaves_values_unset")
FILLED = frozenset(values_of("fills_with")) | operators_with("preallocates")
CONSTANT = FILLED | {"full"}
"""Calls whose elements are all one number: the usual start of a weight."""
FARTHEST = 60


@dataclass(frozen=True, slots=True)
class _Setting:
    """Where a program gives a weight its values, and how it writes the weight."""

    span: Span
    written: str
    function: ast.AST | None


def find_given_weights(scene: HazardContext) -> Iterator[Finding]:
    """Find draws of weights that were set to computed values."""
    copied: dict[int, Op] = {}  # by the storage, until something uses it
    seen: set[int] = set()
    reported: set[Span] = set()
    for op in scene.program.trace.ops:
        name = op.name.rpartition(".")[2]
        if name == "data":
            continue
        is_draw = name in DRAWS and len(op.inputs) == 1 and len(op.outputs) == 1
        if is_draw and op.outputs[0].ndim > 1 and op.span is not None:
            fact = op.outputs[0]
            setting = None
            if fact.storage in copied:
                setting = _read_copy(scene, copied[fact.storage])
            elif fact.storage not in seen:
                setting = _find_assignment(scene, op, fact)
            if setting is not None and setting.span not in reported:
                place = _find_other_place(scene, op, setting)
                if place is not None:
                    reported.add(setting.span)
                    yield _report_draw(setting, place, _is_frozen(scene, fact))
        for used in (*op.inputs, *op.outputs):
            copied.pop(used.storage, None)
        if op.kind != "view":
            seen |= {fact.storage for fact in op.inputs}
        is_copy = name in ("copy_", "[]=") and len(op.inputs) == 2
        if is_copy and op.outputs and op.outputs[0].ndim > 1:
            target, source = op.inputs
            is_whole = target.numel <= source.numel or name == "copy_"
            if is_whole and _is_computed(scene, source, op):
                copied[target.storage] = op


def _report_draw(setting: _Setting, place: Span, is_frozen: bool) -> Finding:
    """Return the finding for a weight that is drawn anew."""
    message = f"`{setting.written}` is drawn anew here, before anything has used it:"
    message += " the values that it was set to are lost"
    if is_frozen:
        message += ", and it needs no gradient, so that it stays random"
    return Finding(
        LOADED_WEIGHTS_LOST,
        "warning",
        message,
        place,
        related=(Related(setting.span, "it is set on purpose here"),),
    )


def _is_frozen(scene: HazardContext, fact: Fact) -> bool:
    """Return whether the first layer that reads a weight reads it as frozen."""
    call = _find_reader(scene, fact)
    for read in call.op.inputs if call is not None else ():
        if read.storage == fact.storage:
            return read.is_leaf and not read.requires_grad
    return False


def _find_reader(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the first call of a layer that reads a weight."""
    return next(
        (
            call
            for call in scene.calls
            if call.op.module
            and call.op.kind == "new"
            and any(read.storage == fact.storage for read in call.op.inputs)
        ),
        None,
    )


def _find_other_place(scene: HazardContext, draw: Op, setting: _Setting) -> Span | None:
    """Return where a weight is drawn, if that is done for many layers at once: in a
    loop or a function other than the one that sets it.
    """
    for frame in draw.frames:
        text = scene.program.text(frame.span.file)
        node = text.node(frame.span) if text is not None else None
        if text is None or node is None or text not in scene.program.own_texts():
            continue
        words = text.written(node)
        method = draw.name.rpartition(".")[2]
        if method.rstrip("_") not in words and "init" not in words:
            continue
        if text.around(node, *FUNCTIONS) is setting.function and not any(
            isinstance(outer, ast.For) for outer in text.outwards(node)
        ):
            return None
    return draw.span


def _read_copy(scene: HazardContext, op: Op) -> _Setting | None:
    """Return how the text writes a copy into a weight, if it does so itself."""
    text = scene.program.text(op.span.file) if op.span is not None else None
    if text is None or op.span is None:
        return None
    for node in text.near(op.span.line):
        if isinstance(node, ast.Call) and get_called_name(node) == "copy_":
            target: ast.expr = node.func.value  # type: ignore[attr-defined]
        elif isinstance(node, ast.Assign) and isinstance(
            node.targets[0], ast.Subscript
        ):
            target = node.targets[0].value
        else:
            continue
        while isinstance(target, ast.Attribute) and target.attr == "data":
            target = target.value
        function = text.around(node, *FUNCTIONS)
        return _Setting(op.span, text.written(target), function)
    return None


def _find_assignment(scene: HazardContext, draw: Op, fact: Fact) -> _Setting | None:
    """Return the assignment of a computed tensor to the weight that is drawn."""
    reader = _find_reader(scene, fact)
    path = reader.op.module if reader is not None else ""
    owner, _, own = path.rpartition(".")
    classes = {c.path: c.class_name for c in scene.program.trace.calls}
    for text in scene.program.own_texts() if path else ():
        for target, value in iter_assignments(text.tree):
            inner = target
            while isinstance(inner, ast.Attribute) and inner.attr == "data":
                inner = inner.value
            if not isinstance(inner, ast.Attribute):
                continue
            within = text.around(target, ast.ClassDef)
            layer = get_own_attribute(inner.value)
            is_of_layer = layer == own and within is not None and bool(own)
            is_of_layer = is_of_layer and within.name == classes.get(owner)  # type: ignore[union-attr]
            is_own = get_own_attribute(inner) and within is not None
            is_own = bool(is_own) and within.name == classes.get(path)  # type: ignore[union-attr]
            if not (is_of_layer or is_own):
                continue
            source = value
            if isinstance(value, ast.Call) and get_called_name(value) == "Parameter":
                source = value.args[0] if value.args else value
            elif inner is target:
                continue
            if _is_given_values(scene, text, target, source, draw, fact):
                function = text.around(target, *FUNCTIONS)
                return _Setting(text.span(target), text.written(inner), function)
    return None


def _is_given_values(
    scene: HazardContext,
    text: SourceText,
    target: ast.expr,
    source: ast.expr,
    draw: Op,
    fact: Fact,
) -> bool:
    """Return whether an expression is a tensor of computed values, and of this shape,
    at the time of a draw.
    """
    node: ast.AST | None = source
    if isinstance(source, ast.Name):
        node = find_last_value(text, source, target.lineno)
    if not isinstance(node, ast.expr):
        return False
    lines = range(node.lineno, get_last_line(node) + 1)
    last = None
    for op in scene.program.trace.ops[: draw.index]:
        is_here = any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
        if is_here and op.outputs and op.outputs[0].shape == fact.shape:
            last = op.outputs[0]
    return last is not None and _is_computed(scene, last, draw)


def _is_computed(scene: HazardContext, fact: Fact, until: Op) -> bool:
    """Return whether the program has made a tensor of data, by no draw and not of one
    number alone.
    """
    ancestors = find_ancestors(scene, fact, FARTHEST)
    names = {call.name for call in ancestors.values()}
    storages = {f.storage for c in ancestors.values() for f in c.op.outputs}
    if not names or names & (RANDOM | UNSET) or len(ancestors) >= FARTHEST:
        return False
    writes = [
        call
        for storage in storages
        for call in scene.writes.get(storage, ())
        if call.op.index < until.index
    ]
    if any(call.name in RANDOM for call in writes):
        return False
    return any(call.name == "[]=" for call in writes) or any(
        not call.op.inputs and call.name not in CONSTANT for call in ancestors.values()
    )
