"""Find the last step of both directions of a recurrent layer, the first step of one
direction, and cell states that are read for hidden ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import RECURRENT, HazardContext
from shapewright.analysis.hazards.single_directions import find_single_directions
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import is_sequence_first
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import LAST_STEP, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import FUNCTIONS
from shapewright.record.ops import Fact

PADDING = "_pad_packed_sequence"
FARTHEST = 8
"""Calls between a layer and the index."""


@looks_for(LAST_STEP)
def find_half_read_sequences(scene: HazardContext) -> Iterator[Finding]:
    """Find `out[:, -1]` of a bidirectional layer, with the features of both
    directions.
    """
    for layer in scene.calls:
        outputs = _find_outputs(scene, layer)
        if outputs is None:
            continue
        fact, time = outputs
        for call in _iter_indexed(scene, fact):
            if _is_last_step(call, time) or _is_step_of_each(scene, call, time):
                yield _report(scene, layer, call)
        for call in _iter_backward_halves(scene, fact, time):
            yield _report(scene, layer, call)
    yield from _find_first_steps(scene)
    yield from _find_cell_states(scene)
    yield from find_single_directions(scene)


def _find_cell_states(scene: HazardContext) -> Iterator[Finding]:
    """Find `_, hidden = self.lstm(x)` of which only `hidden[-1]` is read: the last of
    the pair is the cell state, in place of the last layer's hidden state.
    """
    spans: set[Span] = set()
    for layer in scene.calls:
        span = layer.op.span
        place = scene.program.call_at(span) if layer.name == LSTM else None
        if place is None or span is None or span in spans:
            continue
        text, call = place
        pair = get_pair_read_last(text, call)
        if pair is None:
            continue
        spans.add(span)
        message = (
            f"`{pair.id}` is the pair of hidden and cell state, and `{pair.id}[-1]` the"
            " cell state: nothing reads the hidden state or the output of the LSTM"
        )
        yield scene.finding(LAST_STEP, layer.op, message)


LSTM = "lstm"


def get_pair_read_last(text: SourceText, call: ast.Call) -> ast.Name | None:
    """Return the name of the states of an LSTM, where a function reads nothing but
    their last item, and not the output beside them.
    """
    statement, scope = text.parent(call), text.around(call, *FUNCTIONS) or text.tree
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or scope is None:
        return None
    output, pair = target.elts
    if not isinstance(output, ast.Name) or not isinstance(pair, ast.Name):
        return None
    names = [node for node in ast.walk(scope) if isinstance(node, ast.Name)]
    if any(n.id == output.id and isinstance(n.ctx, ast.Load) for n in names):
        return None
    places = [name for name in names if name.id == pair.id and name is not pair]
    is_last = [
        isinstance(around := text.parent(name), ast.Subscript)
        and name is around.value
        and isinstance(around.ctx, ast.Load)
        and text.written(around.slice) == "-1"
        for name in places
    ]
    return pair if is_last and all(is_last) else None


def _find_first_steps(scene: HazardContext) -> Iterator[Finding]:
    """Find `out[:, 0]` of a layer of one direction, of which nothing else is read."""
    for layer in scene.calls:
        if layer.name not in RECURRENT or layer.given(7, "bidirectional"):
            continue
        out, time_first = layer.op.outputs[0], is_sequence_first(layer)
        if out.ndim != len("BTF") or time_first is None:
            continue
        time = 0 if time_first else 1
        states = [fact.tensor for fact in layer.op.outputs[1:]]
        users = [user for t in (out.tensor, *states) for user in scene.users.get(t, ())]
        taken = list(_iter_indexed(scene, out))
        if len(users) != 1 or len(taken) != 1 or out.shape[time] < 2:
            continue
        items = get_items(taken[0]) if taken[0].name == "[]" else None
        if items is None or len(items) <= time or type(items[time]) is not int:
            continue
        if items[time] == 0 and all(
            i == ":" for at, i in enumerate(items) if at != time
        ):
            name = scene.names(taken[0].op)[0].rsplit(" (", 1)[0]
            message = (
                f"the first step of {name} {format_shape(out)} has read one step of the"
                f" sequence, and nothing reads the other {out.shape[time] - 1}"
            )
            place = (layer.op, "the layer goes from the first step to the last")
            yield scene.finding(LAST_STEP, taken[0].op, message, place)


def _find_outputs(scene: HazardContext, layer: OperatorCall) -> tuple[Fact, int] | None:
    """Return the outputs of a layer of two directions, padded again if they were
    packed, and the dim of their steps; None for other calls.
    """
    if layer.name not in RECURRENT:
        return None
    out = layer.op.outputs[0]
    if out.ndim == 2 and len(layer.op.outputs) > 1:
        states = layer.op.outputs[1]
        for user in scene.users.get(out.tensor, ()):
            if user.name == PADDING and out.shape[-1] == 2 * states.shape[-1]:
                return user.op.outputs[0], 1 if user.given(2, "batch_first") else 0
        return None
    time_first = is_sequence_first(layer)
    if not layer.given(7, "bidirectional") or time_first is None:
        return None
    time = 0 if time_first else 1
    return (out, time) if out.shape[time] > 1 else None


def _iter_indexed(scene: HazardContext, fact: Fact) -> Iterator[OperatorCall]:
    """Yield the indexing calls on a layer's output, as it came out of the layer."""
    shape, waiting = fact.shape, [fact.tensor]
    for _ in range(FARTHEST):
        if not waiting:
            return
        for call in scene.users.get(waiting.pop(0), ()):
            if call.name in ("[]", "select", "gather"):
                yield call
            elif (
                call.name in PASSING | {"index_select"}
                and call.op.outputs[0].shape == shape
            ):
                waiting.append(call.op.outputs[0].tensor)


def _iter_backward_halves(
    scene: HazardContext, fact: Fact, time: int
) -> Iterator[OperatorCall]:
    """Yield the calls that take the last step of the features of the backward direction
    alone.
    """
    width = fact.shape[-1] // 2
    for call in scene.users.get(fact.tensor, ()):
        if call.name in HALVING and len(call.op.outputs) == 2:
            half = call.op.outputs[1]
            if half.shape[-1] == width:
                for user in scene.users.get(half.tensor, ()):
                    if user.name in ("[]", "select") and _is_last_step(user, time):
                        yield user
        items = get_items(call) if call.name == "[]" else None
        if items is None or len(items) < 2:
            continue
        is_half = items[-1] in (f"{width}:", f"{-width}:", f"{width}:{2 * width}")
        if is_half and items[:-1] == ("...",):
            for user in scene.users.get(call.op.outputs[0].tensor, ()):
                if user.name in ("[]", "select") and _is_last_step(user, time):
                    yield user
        elif is_half and items[:-1] == ((":", -1) if time else (-1, ":")):
            yield call


HALVING = operators_with("splits") | {"tensor_split"}


def _is_last_step(call: OperatorCall, time: int) -> bool:
    """Return whether an index takes the last step with all its features."""
    if call.name == "select":
        at, index = call.given(1, "dim"), call.given(2, "index")
        return at in (time, time - 3) and index == -1
    items = get_items(call)
    if items is None or "..." in items or None in items or len(items) <= time:
        return False
    plain = all(item == ":" for at, item in enumerate(items) if at != time)
    return plain and type(items[time]) is int and items[time] == -1


def _is_step_of_each(scene: HazardContext, call: OperatorCall, time: int) -> bool:
    """Return whether an index takes one step of each sample, with the features of both
    directions, which nothing divides afterwards.
    """
    fact, out = call.op.inputs[0], call.op.outputs[0]
    if call.name == "gather":
        at = call.given(1, "dim")
        taken = at in (time, time - 3) and out.shape[time] == 1
    else:
        items = get_items(call)
        taken = items == ("tensor", "tensor") and out.ndim == 2
    users = list(scene.users.get(out.tensor, ()))
    for user in users[:FARTHEST]:
        if user.name == "squeeze":
            users += scene.users.get(user.op.outputs[0].tensor, ())
    is_cut = any(user.name in ("[]", "chunk", "split") for user in users)
    return taken and not is_cut and out.shape[-1] == fact.shape[-1]


def _report(scene: HazardContext, layer: OperatorCall, call: OperatorCall) -> Finding:
    width = layer.op.outputs[0].shape[-1] // 2
    name = scene.names(call.op)[0].rsplit(" (", 1)[0]
    message = (
        f"the last step of {name} {format_shape(call.op.inputs[0])} holds the backward"
        " direction after it has read that one step only: its last state is at step 0"
    )
    return scene.finding(
        LAST_STEP,
        call.op,
        message,
        (layer.op, f"bidirectional: {width} features forward, then {width} backward"),
    )
