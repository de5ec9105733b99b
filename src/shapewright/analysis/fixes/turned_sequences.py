"""Sequences that are turned to have the time first, for layers that take the batch
first: the layers take the samples for steps, and a mask of the steps does not fit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import ATTENTION_MASK_SHAPE, MASK_SHAPE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Op

TURNING = operators_with("transposes_dims") | {"permute"}
OF_MASKS = frozenset({ATTENTION_MASK_SHAPE, MASK_SHAPE})
FARTHEST = 60
"""Calls between a layer and the line that turns its input."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """A call that gives a sequence its time in dim 0, and the layer that has it in
    dim 1.
    """

    maker: Op
    text: SourceText
    call: ast.Call
    path: str


def suggest_kept_layout(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x` for `x.permute(1, 0, 2)`, in front of layers that are built batch
    first and behind them, and then layers that are not.
    """
    turn = _find_turn(program, failure)
    if turn is None:
        return
    back = _list_turns_behind(turn.text, turn.call)
    calls = [turn.call, *back]
    owners = [get_receiver(call) for call in calls]
    if len(back) == 1 and all(owner is not None for owner in owners):
        edits = tuple(
            Edit(turn.text.span(owner).end.until(turn.text.span(call)), "")
            for call, owner in zip(calls, owners, strict=True)
            if owner is not None
        )
        shown = [f"`{join_lines(turn.text.written(call))}`" for call in calls]
        message = f"without {shown[0]} and {shown[1]}"
        if shown[0] == shown[1]:
            message = f"without {shown[0]}, and without the same behind the layers"
        yield Fix("fits", message, edits)
    yield from _suggest_time_first(program, turn.path)


def describe_turned_sequence(program: Program, failure: Failure) -> Related | None:
    """Return which line gives the time to dim 0, in front of layers that have the batch
    there.
    """
    turn = _find_turn(program, failure)
    if turn is None:
        return None
    words = (
        f"this makes {format_shape(turn.maker.outputs[0])} of"
        f" {format_shape(turn.maker.inputs[0])}, and the layer is built with"
        " `batch_first=True`: it takes dim 1 for time"
    )
    return Related(turn.text.span(turn.call), words)


def _find_turn(program: Program, failure: Failure) -> _Turn | None:
    """Return the line that turned what a layer is given, if a mask has as many columns
    as the sequence had steps in dim 1 before.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if unmet is None or unmet.code not in OF_MASKS or not op.inputs:
        return None
    if layer is None or built is None:
        return None
    if dict(built.values).get("batch_first") is not True:
        return None
    widths = {fact.shape[-1] for fact in op.inputs[1:] if fact.shape}
    for maker in iter_first_makers(program, op.inputs[0], FARTHEST):
        place = program.call_at(maker.span)
        if maker.name.rpartition(".")[2] not in TURNING or place is None:
            continue
        before, after = maker.inputs[0].shape, maker.outputs[0].shape
        is_turn = len(before) == len("BTC") and after == (
            before[1],
            before[0],
            before[2],
        )
        if not is_turn or before[0] == before[1] or is_installed(place[0].file):
            continue
        if _is_inside(program, maker, layer.path):
            continue
        return _Turn(maker, *place, layer.path) if before[1] in widths else None
    return None


def _is_inside(program: Program, maker: Op, path: str) -> bool:
    """Return whether a call is one of a layer itself, on the line that calls it."""
    layer = program.layer(maker)
    return layer is not None and layer.path == path


def _list_turns_behind(text: SourceText, call: ast.Call) -> list[ast.Call]:
    """Return the calls below one, in its function, that turn the sequence back."""
    scope = text.around(call, *FUNCTIONS) or text.tree
    order = [text.written(argument) for argument in call.args]
    return [
        part
        for part in (ast.walk(scope) if scope is not None else ())
        if isinstance(part, ast.Call)
        and part.lineno > call.lineno
        and get_called_name(part) in TURNING
        and sorted(text.written(argument) for argument in part.args) == sorted(order)
    ]


def _suggest_time_first(program: Program, path: str) -> Iterator[Fix]:
    """Suggest `batch_first=False` where it is written, as an argument of the layer or
    as the only default of that name.
    """
    place = find_constructor(program, path)
    words = place[1].keywords if place is not None else []
    flag = next((word.value for word in words if word.arg == "batch_first"), None)
    places: list[tuple[SourceText, ast.expr]] = []
    if place is not None and flag is not None and _is_true(flag):
        places = [(place[0], flag)]
    if isinstance(flag, ast.Name):
        places = [
            (text, default)
            for text in program.own_texts()
            for node in text.nodes
            if isinstance(node, ast.FunctionDef)
            for name, default in _iter_defaults(node)
            if name == flag.id and _is_true(default)
        ]
    if len(places) == 1:
        text, value = places[0]
        yield Fix("fits", "`batch_first=False`", (Edit(text.span(value), "False"),))


def _iter_defaults(node: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of parameters that have a default, with it."""
    places = [*node.args.posonlyargs, *node.args.args]
    defaults = node.args.defaults
    for argument, value in zip(places[-len(defaults) :], defaults, strict=False):
        yield argument.arg, value
    for argument, other in zip(
        node.args.kwonlyargs, node.args.kw_defaults, strict=True
    ):
        if other is not None:
            yield argument.arg, other


def _is_true(node: ast.expr | None) -> bool:
    """Return whether an expression is `True`."""
    return isinstance(node, ast.Constant) and node.value is True
