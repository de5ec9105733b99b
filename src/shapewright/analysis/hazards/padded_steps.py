"""Find the last step of sequences that were padded behind their ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from shapewright.analysis.hazards.causal_masks import FILLS, HIDES
from shapewright.analysis.hazards.context import RECURRENT, HazardContext
from shapewright.analysis.hazards.mask_fills import PRODUCTS
from shapewright.analysis.hazards.padded_rows import PaddedRows, find_padded_rows
from shapewright.analysis.hazards.steps_behind import find_steps_behind
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import is_sequence_first
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import PADDED_LAST_STEP, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import iter_own_nodes
from shapewright.record.ops import Fact, Op

MOST = 400
"""Calls that are followed back from an index."""
ENCODER = "_transformer_encoder_layer_fwd"
MIXING = PRODUCTS | operators_with("adds_up_elements") | {"softmax", "cumsum"}
TURNS = frozenset({"flip", "roll"})


@dataclass(slots=True)
class _History:
    """What came before a tensor: the call that padded it, and what read it."""

    padding: Op | None = None
    rows: PaddedRows | None = None
    masked: Op | None = None
    unpacked: Op | None = None
    reads_padding: bool = False
    embedding: Op | None = None
    names: set[str] = field(default_factory=set)

    @property
    def is_of_steps(self) -> bool:
        """Return whether the state at a step of padding says nothing of its sequence:
        padding is masked or packed away, or no step has read another one.
        """
        if self.masked is not None or self.unpacked is not None:
            return True
        mixes = any("attention" in name or "conv" in name for name in self.names)
        return not mixes and not self.names & MIXING and "embedding" in self.names


@looks_for(PADDED_LAST_STEP)
def find_padded_steps(scene: HazardContext) -> Iterator[Finding]:
    """Find `states[:, -1]` of sequences of several lengths."""
    yield from find_steps_behind(scene)
    seen: set[object] = set()
    for call in scene.calls:
        time = _get_last_step(call)
        if time is None or call.op.span in seen or not scene.in_user_code(call.op):
            continue
        history = read_history(scene, call, time)
        padding, rows = history.padding, history.rows
        if (
            padding is None
            or rows is None
            or history.reads_padding
            or not history.is_of_steps
        ):
            continue
        seen.add(call.op.span)
        lengths = rows.lengths
        count = sum(length < max(lengths) for length in lengths)
        name = scene.names(call.op)[0].rsplit(" (", 1)[0]
        message = (
            f"the last step of {name} {format_shape(call.op.inputs[0])} is padding for"
            f" {count} of {len(lengths)} sequences, which end before it"
        )
        yield scene.finding(
            PADDED_LAST_STEP,
            call.op,
            message,
            (padding, "the shorter ones are filled up behind their end here"),
            (history.masked, "its mask hides padding from other steps, not from this"),
        )
    yield from _find_unread_lengths(scene)


def _is_grown(scene: HazardContext, fact: Fact, time: int) -> bool:
    """Return whether the steps were joined from others, as where a decoder generates
    one by one: they are not those that were padded, though there may be as many.
    """
    return any(axis.kind == "changed" for axis in scene.flow.of(fact)[time])


def _find_unread_lengths(scene: HazardContext) -> Iterator[Finding]:
    """Find recurrent layers whose last states have read padding, in functions that are
    given the lengths of the sequences and do not read them.
    """
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name not in RECURRENT or op.span in seen or op.inputs[0].ndim != 3:
            continue
        where = scene.program.call_at(op.span)
        name = find_unread_lengths(*where) if where is not None else ""
        if not name and where is not None:
            yield from _find_read_padding(scene, call, seen)
        if not name or not _is_last_state_read(scene, op):
            continue
        histories = (read_history(scene, call, time) for time in (1, 0))
        history = next((h for h in histories if h.padding is not None), None)
        if history is None or history.rows is None or history.unpacked is not None:
            continue
        seen.add(op.span)
        lengths = history.rows.lengths
        count = sum(length < max(lengths) for length in lengths)
        message = (
            f"{scene.operation(op)} reads the padding behind {count} of {len(lengths)}"
            f" sequences before it gives their last states, and `{name}` is not used"
        )
        yield scene.finding(
            PADDED_LAST_STEP, op, message,
            (history.padding, "the shorter ones are filled up behind their end here"),
        )  # fmt: skip


def _find_read_padding(
    scene: HazardContext, layer: OperatorCall, seen: set[object]
) -> Iterator[Finding]:
    """Find the last step, or the last state, of a recurrent layer of one direction that
    has read the padding which its embedding declares as such.
    """
    op, time_first = layer.op, is_sequence_first(layer)
    if layer.given(7, "bidirectional") or time_first is None:
        return
    time = 0 if time_first else 1
    users = scene.users.get(op.outputs[0].tensor, ())
    steps = [u for u in users if _get_last_step(u) == time and u.op.span is not None]
    is_state = not users and _is_state_scored(scene, op)
    if (not steps and not is_state) or any(user not in steps for user in users):
        return
    history = read_history(scene, layer, time)
    rows, embedding = history.rows, history.embedding
    place = steps[0].op if steps else op
    if rows is None or history.padding is None or place.span in seen:
        return
    is_kept = history.unpacked is None and not history.names & TURNS
    if not is_kept or not _is_padding_known(scene, history, rows, place):
        return
    seen.add(place.span)
    count = sum(length < max(rows.lengths) for length in rows.lengths)
    kind = layer.name.upper()
    step = f"the last step of {scene.names(place)[0].rsplit(' (', 1)[0]}"
    message = (
        f"{step if steps else 'the last state'} comes after the padding of {count} of"
        f" {len(rows.lengths)} sequences, which the {kind} reads behind their ends"
    )
    yield scene.finding(
        PADDED_LAST_STEP, place, message,
        (history.padding, "the shorter ones are filled up behind their end here"),
        (embedding, f"id {rows.value:g} is declared as padding"),
    )  # fmt: skip


def _is_padding_known(
    scene: HazardContext, history: _History, rows: PaddedRows, place: Op
) -> bool:
    """Return whether the program says which steps are padding: by the id that an
    embedding declares, or by the lengths of what `pad_sequence` joined.
    """
    if history.embedding is not None:
        arguments = dict(history.embedding.arguments)
        declared = arguments.get("padding_idx", arguments.get("2"))
        return type(declared) is int and declared == rows.value
    padding, where = history.padding, scene.program.node(place.span)
    if padding is None or where is None or not padding.name.endswith("pad_sequence"):
        return False
    text, node = where
    if not isinstance(node, ast.Subscript):
        return False
    scope = text.around(node, ast.FunctionDef)
    body = ast.walk(scope) if scope is not None else iter_own_nodes(text.tree)
    return any(
        isinstance(part, ast.Name)
        and isinstance(part.ctx, ast.Store)
        and _is_of_lengths(part.id)
        for part in body
    )


def _is_of_lengths(name: str) -> bool:
    """Return whether a name says that it holds lengths."""
    words = name.lower().split("_")
    return any(word in LENGTHS or word.endswith(("lengths", "lens")) for word in words)


def _is_state_scored(scene: HazardContext, op: Op) -> bool:
    """Return whether the last states of a recurrent layer are read, and no recurrent
    layer goes on from them: a decoder, or the next part of a text.
    """
    waiting, names = [fact.tensor for fact in op.outputs[1:]], set[str]()
    for _ in range(MOST):
        if not waiting:
            break
        for user in scene.users.get(waiting.pop(0), ()):
            names.add(user.name)
            if user.name in PASSING:
                waiting += [fact.tensor for fact in user.op.outputs]
    cells = any(name.endswith("_cell") for name in names)
    return bool(names) and not names & RECURRENT and not cells


def find_unread_lengths(text: SourceText, call: ast.Call) -> str:
    """Return the parameter with lengths that the function around a call never reads, or
    an empty string.
    """
    function = text.around(call, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef):
        return ""
    read = {part.id for part in ast.walk(function) if isinstance(part, ast.Name)}
    for argument in function.args.args:
        if argument.arg not in read and _is_of_lengths(argument.arg):
            return argument.arg
    return ""


LENGTHS = frozenset({"length", "lengths", "len", "lens", "seqlen"})


def _is_last_state_read(scene: HazardContext, op: Op) -> bool:
    """Return whether the states or the last step that a recurrent layer gives are
    read.
    """
    if any(scene.users.get(fact.tensor) for fact in op.outputs[1:]):
        return True
    users = scene.users.get(op.outputs[0].tensor, ())
    return any(_get_last_step(user) is not None for user in users)


def _get_last_step(call: OperatorCall) -> int | None:
    """Return the dim of which a call takes the last step, 0 or 1, or None."""
    if not call.op.inputs or call.op.span is None:
        return None
    fact = call.op.inputs[0]
    if fact.ndim < 3 or not fact.dtype.startswith(("float", "bf")):
        return None
    if call.name == "select":
        at, index = call.given(1, "dim"), call.given(2, "index")
        return at if at in (0, 1) and index in (-1, fact.shape[at] - 1) else None
    items = get_items(call) if call.name == "[]" else None
    if items is None or "..." in items or None in items:
        return None
    last = [
        at for at, item in enumerate(items)
        if type(item) is int and item in (-1, fact.shape[at] - 1)
    ]  # fmt: skip
    plain = all(item == ":" for at, item in enumerate(items) if at not in last)
    return last[0] if plain and len(last) == 1 and last[0] < 2 else None


def read_history(scene: HazardContext, call: OperatorCall, time: int) -> _History:
    """Return what came before a tensor of which an index takes the last step."""
    shape = call.op.inputs[0].shape
    steps, samples = shape[time], shape[1 - time]
    history = _History()
    if _is_grown(scene, call.op.inputs[0], time):
        return history
    waiting, known = [call.op.inputs[0]], set[int]()
    for _ in range(MOST):
        if not waiting:
            break
        op = scene.program.producers.get(waiting.pop(0).tensor)
        if op is None or op.index in known:
            continue
        known.add(op.index)
        name = op.name.rpartition(".")[2]
        history.names.add(name)
        if rows := find_padded_rows(scene, op):
            if _is_padded_behind(op, rows, steps, samples):
                history.padding, history.rows = op, rows
            continue
        if name == "embedding":
            history.embedding = op
        if name == "_pad_packed_sequence":
            history.unpacked = op
        elif name in TURNS:
            history.reads_padding = True
        elif has_padding_mask(op, name, samples):
            history.masked = history.masked or op
        waiting += op.inputs
    if history.unpacked is None and history.names & RECURRENT:
        history.reads_padding = True
    return history


def _is_padded_behind(op: Op, rows: PaddedRows, steps: int, samples: int) -> bool:
    """Return whether the samples, in so many steps, are the rows that were padded."""
    return (
        set(op.outputs[0].shape[:2]) == {steps, samples}
        and len(rows.lengths) == samples
        and max(rows.lengths) <= steps
    )


def has_padding_mask(op: Op, name: str, samples: int) -> bool:
    """Return whether attention is given a mask of the padding of each sample."""
    if name == "multi_head_attention_forward":
        return "key_padding_mask" in op.places
    masks: tuple[Fact, ...] = ()
    if name in FILLS:
        value = dict(op.arguments).get("2", dict(op.arguments).get("value"))
        is_hidden = isinstance(value, int | float) and value <= HIDES
        masks = op.inputs[1:] if is_hidden else ()
    if name == "scaled_dot_product_attention":
        masks = op.inputs[3:]
    elif name == ENCODER:
        masks = op.inputs[13:]
    return any(mask.shape[:1] == (samples,) and samples > 1 for mask in masks)
