"""LSTM, GRU and RNN over whole sequences, not packed; and their cells."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous

Shape = tuple[int, ...]


def _usual(input: Meta, states: tuple[Meta, ...], params: Any, gates: int) -> bool:
    """Whether all sizes and dtypes fit as they should; else torch has the word."""
    metas = (*states, *params)
    if len(input.shape) != 3 or 0 in input.shape or input.dtype not in FLOATING:
        return False
    if any(meta.dtype != input.dtype for meta in metas):
        return False
    hidden = states[0].shape[-1]
    first = params[0].shape
    return bool(first == (gates * hidden, input.shape[2]))


def _sequence(
    input: Meta,
    states: tuple[Meta, ...],
    params: Any,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    gates: int,
) -> Any:
    directions = 2 if bidirectional else 1
    per_layer = (4 if has_biases else 2) * directions
    if type(params) not in (list, tuple) or len(params) != per_layer * num_layers:
        return NotImplemented
    if any(len(state.shape) != 3 for state in states):
        return NotImplemented
    if not _usual(input, states, params, gates):
        return NotImplemented
    length, batch = input.shape[:2]
    if batch_first:
        length, batch = batch, length
    hidden = states[0].shape[2]
    want = (num_layers * directions, batch, hidden)
    if any(state.shape != want for state in states):
        return NotImplemented
    width = hidden * directions
    shape: Shape = (length, batch, width)
    stride: Shape | None = None
    if batch_first:
        a, b, c = contiguous(shape)
        shape, stride = (batch, length, width), (b, a, c)
    node = None if batch_first or not bidirectional else "CatBackward0"
    made = Made(shape, input.dtype, stride, node)
    last = Made(want, input.dtype, None, "StackBackward0")
    return (made, *(last for _ in states))


@rule("torch.lstm")
def lstm(
    input: Meta,
    hx: Any,
    params: Any,
    has_biases: Any = True,
    num_layers: Any = 1,
    dropout: Any = 0.0,
    train: Any = False,
    bidirectional: Any = False,
    batch_first: Any = False,
) -> Any:
    """`(16, 8, 32)` into 64 gives (16, 8, 64) and two states (1, 8, 64)."""
    if type(hx) not in (list, tuple) or len(hx) != 2 or type(has_biases) is not bool:
        return NotImplemented
    return _sequence(
        input,
        tuple(hx),
        params,
        has_biases,
        num_layers,
        bidirectional,
        batch_first,
        4,
    )


def _register(name: str, gates: int) -> None:
    @rule(name)
    def recurrent(
        input: Meta,
        hx: Any,
        params: Any,
        has_biases: Any = True,
        num_layers: Any = 1,
        dropout: Any = 0.0,
        train: Any = False,
        bidirectional: Any = False,
        batch_first: Any = False,
    ) -> Any:
        if not hasattr(hx, "shape") or type(has_biases) is not bool:
            return NotImplemented
        return _sequence(
            input, (hx,), params, has_biases, num_layers, bidirectional, batch_first,
            gates,
        )  # fmt: skip


_register("torch.gru", 3)
_register("torch.rnn_tanh", 1)
_register("torch.rnn_relu", 1)
