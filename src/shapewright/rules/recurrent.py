"""LSTM, GRU and RNN over whole sequences and packed ones; and their cells.

FLOPs are those of the products with the weights. On the CPU torch's counter sees none
of an LSTM's, since these run inside one kernel of oneDNN; the same arithmetic is
counted for it as for the others.
"""

from __future__ import annotations

from math import prod
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
    fused = gates == 4 and input.dtype == "float32"  # by oneDNN
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
    node: str | None = "CatBackward0" if bidirectional else "StackBackward0"
    if batch_first:
        node = "TransposeBackward0" if gates == 4 else "TransposeBackward1"
    elif fused and not bidirectional:
        node = "MkldnnRnnLayerBackward0"
    if gates == 4 and input.dtype not in ("float32", "float64"):
        node = None  # whether oneDNN takes halves depends on the processor
    made = Made(shape, input.dtype, stride, node)
    last = Made(want, input.dtype, None, "StackBackward0")
    return (made, *(last for _ in states))


def _packed(
    data: Meta, batch_sizes: Any, hx: Any, params: Any, has_biases: Any,
    num_layers: Any, dropout: Any, train: Any, bidirectional: Any, gates: int,
) -> Any:  # fmt: skip
    """Rows of all steps, one after the other: (13, 32) into 64 gives (13, 64)."""
    states = tuple(hx) if isinstance(hx, tuple | list) else (hx,)
    if not isinstance(params, tuple | list) or len(states) != (1 + (gates == 4)):
        return NotImplemented
    if len(batch_sizes.shape) != 1 or type(num_layers) is not int:
        return NotImplemented
    directions = 2 if bidirectional else 1
    each = (4 if has_biases else 2) * directions
    if len(data.shape) != 2 or len(params) != each * num_layers or 0 in data.shape:
        return NotImplemented
    dtype, want = data.dtype, states[0].shape
    if dtype not in FLOATING or any(m.dtype != dtype for m in (*states, *params)):
        return NotImplemented
    if any(state.shape != want for state in states) or len(want) != 3:
        return NotImplemented
    if want[0] != num_layers * directions or 0 in want:
        return NotImplemented
    if params[0].shape != (gates * want[2], data.shape[1]):
        return NotImplemented
    shape = (data.shape[0], want[2] * directions)
    last = Made(want, dtype, None, "StackBackward0")
    fused = gates == 4 and dtype != "float64"  # oneDNN may, where lengths are equal
    node = None if fused else "CatBackward0"
    return (Made(shape, dtype, None, node), *(last for _ in states))


def _flops(input: Meta, hx: Any, params: Any, *more: Any, **__: Any) -> int:
    """Each step multiplies by every weight matrix once."""
    if len(input.shape) == 2:
        weights = sum(prod(one.shape) for one in more[0] if len(one.shape) == 2)
        return 2 * input.shape[0] * int(weights)
    weights = sum(prod(param.shape) for param in params if len(param.shape) == 2)
    return 2 * prod(input.shape[:2]) * int(weights)


@rule("torch.lstm", flops=_flops)
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
    if hasattr(hx, "shape"):
        return _packed(
            input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
            batch_first, 4,
        )  # fmt: skip
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
    @rule(name, flops=_flops)
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
        if hasattr(params, "shape"):
            return _packed(
                input, hx, params, has_biases, num_layers, dropout, train,
                bidirectional, batch_first, gates,
            )  # fmt: skip
        if not hasattr(hx, "shape") or type(has_biases) is not bool:
            return NotImplemented
        return _sequence(
            input, (hx,), params, has_biases, num_layers, bidirectional, batch_first,
            gates,
        )  # fmt: skip


_register("torch.gru", 3)
_register("torch.rnn_tanh", 1)
_register("torch.rnn_relu", 1)


def _cell_flops(
    input: Meta, hx: Any, w_ih: Meta, w_hh: Meta, *_: Any, **__: Any
) -> int:
    return 2 * input.shape[0] * (prod(w_ih.shape) + prod(w_hh.shape))


def _register_cell(name: str, gates: int, nodes: tuple[str, ...]) -> None:
    @rule(f"torch.{name}", flops=_cell_flops)
    def cell(
        input: Meta, hx: Any, w_ih: Meta, w_hh: Meta, b_ih: Meta | None = None,
        b_hh: Meta | None = None,
    ) -> Any:  # fmt: skip
        states = tuple(hx) if isinstance(hx, list | tuple) else (hx,)
        given = (*states, w_ih, w_hh, *(b for b in (b_ih, b_hh) if b is not None))
        if input.dtype not in FLOATING or any(m.dtype != input.dtype for m in given):
            return NotImplemented
        if len(states) != len(nodes) or len(input.shape) != 2 or 0 in input.shape:
            return NotImplemented
        hidden = states[0].shape[-1]
        rows, want = gates * hidden, (input.shape[0], hidden)
        biases = [b.shape for b in (b_ih, b_hh) if b is not None]
        if (
            w_ih.shape != (rows, input.shape[1])
            or w_hh.shape != (rows, hidden)
            or any(shape != (rows,) for shape in biases)
            or len(biases) == 1
            or any(s.shape != want or s.stride != contiguous(want) for s in states)
        ):
            return NotImplemented
        made = tuple(Made(want, input.dtype, None, node) for node in nodes)
        return made if len(made) > 1 else made[0]


_register_cell("lstm_cell", 4, ("MulBackward0", "AddBackward0"))
_register_cell("gru_cell", 3, ("AddBackward0",))
_register_cell("rnn_tanh_cell", 1, ("TanhBackward0",))
_register_cell("rnn_relu_cell", 1, ("ReluBackward0",))
