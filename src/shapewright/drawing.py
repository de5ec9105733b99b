"""What `explain` draws: a call in text, or a line of a program that was run."""

from __future__ import annotations

from os import getcwd, sep
from os.path import abspath
from typing import TYPE_CHECKING

from shapewright.trace.record import Trace

if TYPE_CHECKING:
    from shapewright.inputs.line import Line
    from shapewright.rules.maps.drawn import Drawn
    from shapewright.runtime.operator_calls.recorded_calls import Watch
    from shapewright.views.lab.line_page import DrawnLine
    from shapewright.views.lab.page import Drawing


def drawn_line(line: Line, made: Trace, watch: Watch) -> DrawnLine:
    """The calls of a line, each called again and drawn."""
    from shapewright.runtime.operator_calls.recorded_calls import replay
    from shapewright.views.lab.line_calls import line_calls, nearest, variants
    from shapewright.views.lab.line_page import MOST_STEPS, DrawnLine, DrawnStep
    from shapewright.views.lab.line_words import worded

    file = abspath(line.file).removeprefix(f"{getcwd()}{sep}")
    calls = line_calls(made, file, line.text, line.number)
    states = [state.fact.tensor for state in made.states]
    steps = []
    for step in calls.steps[:MOST_STEPS]:
        done = replay(step.shown, watch.known_of(step.shown, made.ops))
        drawn = worded(step, done.drawn, done.order, done.known)
        steps.append(DrawnStep(step, drawn, tuple(variants(step, states))))
    text = line.text.splitlines()
    near = [] if steps else nearest(made, file, line.number)
    return DrawnLine(
        f"{line.file}:{line.number}", file, line.target, calls, tuple(steps),
        near=tuple((number, text[number - 1].strip()) for number in near),
        ended=None if made.complete else made.findings[-1],
        assumed=tuple(one.message for one in made.assumptions if one.span is None),
    )  # fmt: skip


def explained(text: str) -> Drawing:
    """The drawing of a call in text; a tensor by itself with its storage."""
    from shapewright.inputs.operation import parse_call
    from shapewright.views.lab.page import Drawing

    call = parse_call(text)
    if call.name != "tensor":
        return Drawing(explain_call(text))
    from shapewright.runtime.operator_calls.live_tensors import typed

    (leaf,) = call.leaves()
    return Drawing(typed(leaf.shape, leaf.dtype, leaf.letters, call.chosen))


def explain_call(text: str) -> Drawn:
    """What an operator does with each element: ``explain_call("f32[3, 1] + f32[4]")``.

    The call is read as data and run on made-up values; see `shapewright explain`.
    Raises `InputError` for text that is not a call of a known operator.
    """
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.operation import parse_call

    call = parse_call(text)
    from shapewright.runtime.operator_calls.operator_names import (
        Unknown,
        is_layer,
        unknown_name,
    )
    from shapewright.runtime.operator_calls.typed_calls import perform

    try:
        return perform(call)
    except Unknown as unknown:
        message = unknown_name(unknown.name)
        if is_layer(unknown.name):
            message = f"`{unknown.name}` is a layer; it is called with its input: "
            message += f"`{text.strip()}(f32[8, 3])`"
        raise InputError(message, text, max(text.find(unknown.name), 0)) from None
