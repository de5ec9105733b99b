"""Checks of packed sequences: their lengths, steps and hidden states."""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import (
    HIDDEN_STATE_SHAPE,
    JOINED_SIZES_DIFFER,
    PACKED_LENGTHS,
    RNN_INPUT_SIZE,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    differs,
    dims,
    dtype_unmet,
    is_tensor,
    resized,
    text,
    word,
)
from shapewright.operators.needs_registry import needs

PACK = "`pack_padded_sequence`"


@needs("torch._pack_padded_sequence")
def pack(input: Meta, lengths: Meta, batch_first: bool = False) -> Unmet | None:
    """Check for a length for each sample, from the longest to the shortest."""
    shape = input.shape
    if len(shape) < 2:
        return Unmet(
            WRONG_RANK,
            f"{PACK} expects at least 2 dims, batch and time, got {len(shape)}: "
            f"{{input}}"
            f" is {text(shape)}",
            Place("input"),
            has=len(shape),
            needs=2,
            grants=(Grant("input", Made((*shape, 1)[:2], input.dtype)),)
            if shape
            else (),
        )
    if len(lengths.shape) != 1:
        return Unmet(
            WRONG_RANK,
            f"{PACK} expects lengths in 1 dim, got {dims(len(lengths.shape))}:"
            f" {{lengths}} is {text(lengths.shape)}",
            Place("lengths"),
            has=len(lengths.shape),
            needs=1,
            grants=(Grant("lengths", Made((shape[not batch_first],), "int64")),),
        )
    wrong = _of_count(input, lengths, bool(batch_first)) or _of_order(lengths)
    if wrong is None and lengths.dtype != "int64":
        why = f"{PACK} expects lengths of dtype int64"
        return dtype_unmet("lengths", lengths, "int64", why)
    return wrong


def _of_count(input: Meta, lengths: Meta, batch_first: bool) -> Unmet | None:
    """Check that there are as many lengths as samples."""
    at = 0 if batch_first else 1
    have, wanted = lengths.shape[0], input.shape[at]
    if have == wanted:
        return None
    said = f"{PACK} needs a length for each of {wanted} samples in dim {at} of"
    said += f" {{input}} {text(input.shape)}, got {have}"
    if have == input.shape[1 - at]:
        said += f"; `batch_first={not batch_first}` reads dim {1 - at} as the batch"
    return Unmet(
        PACKED_LENGTHS,
        said,
        Place("lengths", 0),
        Place("input", at),
        have,
        wanted,
        (Grant("lengths", Made((wanted,), "int64")),),
    )


def _of_order(lengths: Meta) -> Unmet | None:
    """Check that known lengths are at least 1 and do not increase."""
    values: tuple[int, ...] = getattr(lengths, "values", None) or ()
    for n, value in enumerate(values):
        if value > 0 and (not n or value <= values[n - 1]):
            continue
        said = f"{PACK} expects lengths of at least 1, got {value} at [{n}]"
        if value > 0:
            said = f"{PACK} expects lengths from the longest to the shortest, but"
            said += f" {values[n - 1]} stands before {value}; `enforce_sorted=False`"
            said += " sorts them"
        return Unmet(
            PACKED_LENGTHS,
            said,
            Place("lengths"),
            has=value,
            needs=values[n - 1] if value > 0 else 1,
            grants=(Grant("lengths", Made(lengths.shape, "int64")),),
        )
    return None


def of_steps(
    data: Meta, name: str, features: int, dtype: str | None = None
) -> Unmet | None:
    """Check for packed steps of shape (steps, features) that fit the layer."""
    shape = data.shape
    here = word(name)
    if len(shape) != 2:
        made = (shape[0], features) if shape else (1, features)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects packed steps with features, 2 dims, got {len(shape)} in "
            f"the"
            f" data of {here}: {text(shape)}",
            Place(name),
            has=len(shape),
            needs=2,
            grants=(Grant(name, Made(made, data.dtype)),),
        )
    if shape[1] != features:
        return Unmet(
            RNN_INPUT_SIZE,
            f"{{op}} needs {features} input features, got {shape[1]} in the packed"
            f" steps of {here}: {text(shape)}",
            Place(name, 1),
            None,
            shape[1],
            features,
            (Grant(name, resized(data, 1, features)),),
        )
    if dtype is not None and data.dtype != dtype:
        return dtype_unmet(name, data, dtype, f"{{op}} computes in {dtype}")
    return None


def of_sum(data: Meta, name: str, sizes: Any) -> Unmet | None:
    """Check that the number of packed steps is the sum of the lengths, if known."""
    values: tuple[int, ...] | None = getattr(sizes, "values", None)
    if values is None or sum(values) == data.shape[0]:
        return None
    wanted = sum(values)
    return Unmet(
        PACKED_LENGTHS,
        f"{{op}} reads {wanted} steps, as the lengths say, the longest of them"
        f" {len(values)}, but {word(name)} has {data.shape[0]}: a length is longer than"
        " the padded sequence was",
        Place(name, 0),
        None,
        data.shape[0],
        wanted,
        (Grant(name, resized(data, 0, wanted)),),
        guessed=True,
    )


def of_packed_states(
    data: Meta, sizes: Meta, states: Any, weights: Any, rest: tuple[Any, ...]
) -> Unmet | None:
    """Check the packed steps and states of a kernel; `rest` are its settings."""
    if not isinstance(weights, tuple | list) or len(weights) < 2:
        return None
    first, second = weights[0], weights[1]
    wrong = of_steps(data, "input", first.shape[1], first.dtype)
    wrong = wrong or of_sum(data, "input", sizes)
    if wrong is not None or len(rest) < 5:
        return wrong
    rows = int(rest[1]) * (2 if rest[4] else 1)
    values: tuple[int, ...] = getattr(sizes, "values", None) or ()
    several = isinstance(states, tuple | list)
    hidden = [second.shape[1], first.shape[0] // 4]
    for n, state in enumerate(states if several else (states,)):
        name = f"params.{n}" if several else "params"
        if not is_tensor(state):
            continue
        batch = values[0] if values else (*state.shape, 1, 1)[1]
        wanted = rows, batch, hidden[n]
        more = n == 1 and state.shape[1:] == wanted[1:] and state.shape[0] > rows
        wrong = of_packed_state(name, state, wanted) if not more else None
        if wrong is None and state.dtype != data.dtype:
            why = f"{{op}} computes in {data.dtype}"
            wrong = dtype_unmet(name, state, data.dtype, why, "input")
        if wrong is not None:
            return wrong
    return None


def of_packed_state(name: str, state: Meta, wanted: tuple[int, ...]) -> Unmet | None:
    """Check that a state is `(layers·directions, batch, hidden)`."""
    shape = state.shape
    if shape == wanted:
        return None
    dim = differs(shape, wanted)
    return Unmet(
        HIDDEN_STATE_SHAPE,
        f"{{op}} needs a hidden state {text(wanted)} = (layers·directions, batch,"
        f" hidden), got {word(name)} {text(shape)}",
        Place(name, dim),
        None,
        text(shape) if dim is None else shape[dim],
        text(wanted) if dim is None else wanted[dim],
        (Grant(name, Made(wanted, state.dtype)),),
    )


@needs("torch._C._nn.pad_sequence")
def pad_sequence(sequences: Any, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the sequences differ in their first dim only."""
    given = list(sequences) if isinstance(sequences, tuple | list) else []
    if not given or not all(is_tensor(each) and each.shape for each in given):
        return None
    wanted = given[0].shape[1:]
    for n, each in enumerate(given[1:], 1):
        tail, place = each.shape[1:], (each.shape[0], *wanted)
        back = zip(each.shape[::-1], place[::-1], strict=False)
        if len(tail) <= len(wanted) and all(a in (1, b) for a, b in back):
            continue
        dim = differs(tail, wanted)
        at = None if dim is None else dim + 1
        return Unmet(
            JOINED_SIZES_DIFFER,
            f"{{op}} pads dim 0 and needs equal sizes after it: {{sequences_0}} is"
            f" {text(given[0].shape)}, {{sequences_{n}}} is {text(each.shape)}",
            Place(f"sequences.{n}", at),
            Place("sequences.0", at),
            text(each.shape),
            text(given[0].shape),
            (Grant(f"sequences.{n}", Made((each.shape[0], *wanted), each.dtype)),),
            guessed=True,
        )
    return None
