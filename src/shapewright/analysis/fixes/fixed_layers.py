"""Layers whose weights come from elsewhere: those of an encoder that is frozen or that
was loaded keep their sizes, and what they are given is to fit them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    list_arguments,
)
from shapewright.record.ops import ModuleCall, Op, collect_leaves

LOADING = "load_state_dict"
COLOURS = 3
"""Channels that a grey image is copied to."""


def is_fixed_layer(program: Program, op: Op) -> bool:
    """Return whether a call has a weight that is frozen, or one that was loaded before
    in one of the functions that led to the call.
    """
    weights = [fact for fact in op.inputs[1:] if fact.tensor in program.states]
    if not weights:
        return False
    return not any(fact.requires_grad for fact in weights) or _is_loaded(program, op)


def _is_loaded(program: Program, op: Op) -> bool:
    """Return whether a state is loaded, in any case, into a module around a layer on a
    line above one that led to its call.
    """
    calls, layer = _list_calls_around(program, op), program.layer(op)
    classes = {call.class_name for call in calls if call is not layer}
    for frame in op.frames:
        text = program.text(frame.span.file)
        place = program.node(frame.span)
        scope = text.around(place[1], *FUNCTIONS) if text and place else None
        scope = scope or (text.tree if text is not None else None)
        for node in ast.walk(scope) if scope is not None else ():
            if text is None or get_called_name(node) != LOADING:
                continue
            assert isinstance(node, ast.Call)
            if node.lineno >= frame.span.line or text.around(node, ast.If, ast.Try):
                continue
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            values = find_defining(text, get_last_name(owner)) if owner else []
            if classes & {get_called_name(value) for value in values}:
                return True
    return False


def _list_calls_around(program: Program, op: Op) -> list[ModuleCall]:
    """Return the calls of modules that led to a call, the innermost first."""
    call = program.layer(op) or program.call_of(op)
    calls: list[ModuleCall] = []
    while call is not None:
        calls.append(call)
        call = program.trace.calls[call.parent] if call.parent is not None else None
    return calls


def suggest_expanded_images(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `encoder(images.expand(-1, 3, -1, -1))` wherever a fixed encoder is given
    images of one channel.
    """
    fixes: dict[str, Fix] = {}
    for other in program.failures:
        if other.unmet != failure.unmet or other.unmet is None:
            continue
        if (other.unmet.has, other.unmet.needs) != (1, COLOURS):
            continue
        fix = _expand_input(program, program.trace.ops[other.op])
        if fix is None:
            return
        fixes.setdefault(str(fix.edits[0].span), fix)
    if fixes:
        shown = " and ".join(dict.fromkeys(fix.message for fix in fixes.values()))
        edits: tuple[Edit, ...] = tuple(e for fix in fixes.values() for e in fix.edits)
        yield Fix("fits", shown, edits)


def _expand_input(program: Program, op: Op) -> Fix | None:
    """Return the fix that gives the outermost module that hands a tensor on to a layer
    as it is three equal channels.
    """
    image = op.inputs[0]
    for call in reversed(_list_calls_around(program, op)):
        facts = collect_leaves([*call.inputs])
        place = program.call_at(call.span)
        if place is None or all(fact.tensor != image.tensor for fact in facts):
            continue
        arguments = list_arguments(place[1])
        if len(arguments) == 1 and image.ndim > 2:
            sizes = ["-1"] * image.ndim
            sizes[1] = str(COLOURS)
            return append_method(place[0], arguments[0], f".expand({', '.join(sizes)})")
    return None
