"""Find loops that feed a recurrent layer step by step and drop its state.

Each step then begins with no state, or with the one from before the loop: what the
layer returns depends on one input alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.context import RECURRENT, HazardContext
from shapewright.analysis.hazards.unread_states import find_unread_states
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import is_sequence_first
from shapewright.findings.codes import STATE_DROPPED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import values_of
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, Op, collect_leaves

ZEROS = frozenset(
    name for name, number in values_of("fills_with").items() if not number
)
FEWEST = 2
"""Steps of a loop that show that none reads the state of the one before."""


@looks_for(STATE_DROPPED)
def find_dropped_states(scene: HazardContext) -> Iterator[Finding]:
    """Find loops over single steps of a layer that elsewhere reads whole sequences."""
    yield from find_unread_states(scene)
    longest: dict[str, OperatorCall] = {}
    steps: dict[tuple[str, Span], list[OperatorCall]] = {}
    for call in scene.calls:
        if call.name not in RECURRENT:
            continue
        length = _get_length(call)
        if length is None:
            continue
        if length > 1:
            longest.setdefault(call.op.module, call)
            continue
        place = _find_place_in_loop(scene, call.op)
        if place is not None:
            steps.setdefault((call.op.module, place), []).append(call)
    for (module, place), calls in steps.items():
        if len(calls) < FEWEST or module not in longest:
            continue
        if any(call.op.outputs[0].requires_grad for call in calls):
            continue
        states = {_get_state(scene, call) for call in calls}
        if len(states) > 1 or any(_is_state_read(scene, call) for call in calls):
            continue
        begin = "no state" if states == {None} else "the state from before the loop"
        message = (
            f"each step of this loop begins with {begin}, and the state that"
            f" `{module or 'the layer'}` returns is dropped: a step knows nothing of"
            " those before it"
        )
        op = calls[0].op
        related = (
            (op, "the layer is given a single step here"),
            (longest[module].op, "elsewhere it reads whole sequences"),
        )
        finding = scene.finding(STATE_DROPPED, op, message, *related)
        yield replace(finding, span=place, module="")


def _get_length(call: OperatorCall) -> int | None:
    """Return how many steps a layer is given, or None."""
    time_first = is_sequence_first(call)
    if time_first is None:
        return None
    return call.op.inputs[0].shape[0 if time_first else 1]


def _find_place_in_loop(scene: HazardContext, op: Op) -> Span | None:
    """Return the call of the program, innermost, that a loop repeats."""
    for frame in reversed(op.frames):
        place = scene.program.node(frame.span)
        if place is not None and place[0].around(place[1], ast.For, ast.While):
            return frame.span
    return None


def _get_state(scene: HazardContext, call: OperatorCall) -> int | None:
    """Return the number of the state that a layer was given, or None."""
    layer = scene.program.call_of(call.op)
    if layer is None:
        return -call.op.index - 1  # each its own
    args, kwargs = layer.inputs
    state = args[1] if len(args) > 1 else kwargs.get("hx")
    first = next(iter(collect_leaves(state)), None)
    maker = scene.maker(first) if first is not None else None
    is_zero = maker is not None and maker.name in ZEROS
    return None if first is None or is_zero else first.tensor


def _is_state_read(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether anything takes the state that a layer returns."""
    states: tuple[Fact, ...] = call.op.outputs[1:]
    return any(fact.tensor in scene.users for fact in states)
