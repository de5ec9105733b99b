"""LSTM, GRU and RNN over sequences, dense or packed, and their cells.

FLOPs are those of the products with the weights. On the CPU torch's counter misses
those of an LSTM, since these run inside a single kernel of oneDNN; they are
counted here as for the other layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from shapewright.operators.metadata_rules import Made, Meta, rule
from shapewright.operators.promotion_and_broadcasting import FLOATING
from shapewright.sizes.strides import contiguous

Shape = tuple[int, ...]


GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""Number of gates: the weights have this many times `hidden` rows."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of a call: `steps` of `batch` rows through `number` layers.

    `rows` are those of packed steps, which have no batch dim; None else. `projected` is
    0 without a projection.
    """

    gates: int
    steps: int
    batch: int
    rows: int | None
    width: int
    hidden: int
    projected: int
    number: int
    directions: int
    has_biases: bool
    batch_first: bool

    def input(self) -> Shape:
        """Return the shape of the input."""
        return self._sequence(self.width)

    def output(self) -> Shape:
        """Return the shape of the output of the last layer."""
        return self._sequence((self.projected or self.hidden) * self.directions)

    def _sequence(self, width: int) -> Shape:
        if self.rows is not None:
            return (self.rows, width)
        sizes = (self.steps, self.batch, width)
        return (sizes[1], sizes[0], width) if self.batch_first else sizes

    def states(self) -> list[Shape]:
        """Return the shapes of the hidden state and, in an LSTM, of the cell state."""
        rows = self.number * self.directions
        widths = [self.projected or self.hidden, self.hidden]
        return [(rows, self.batch, width) for width in widths[: 1 + (self.gates == 4)]]

    def weights(self) -> list[Shape]:
        """Return the shapes of all weights, layer by layer, direction by direction."""
        rows, last = self.gates * self.hidden, self.projected or self.hidden
        shapes: list[Shape] = []
        for layer in range(self.number):
            width = last * self.directions if layer else self.width
            weights: list[Shape] = [(rows, width), (rows, last)]
            weights += [(rows,), (rows,)] if self.has_biases else []
            weights += [(last, self.hidden)] if self.projected else []
            shapes += weights * self.directions
        return shapes


def layers_of(
    gates: int,
    input: Meta,
    hx: Any,
    params: Any,
    has_biases: Any = True,
    num_layers: Any = 1,
    dropout: Any = 0.0,
    train: Any = False,
    bidirectional: Any = False,
    batch_first: Any = False,
) -> Layers | None:
    """Return the layers of a call, or None if a size or dtype does not fit.

    A packed call has rows and batch sizes first, its other arguments one place later.
    """
    steps = None
    if type(has_biases) in (list, tuple):
        steps, hx, params, has_biases, num_layers = (
            hx, params, has_biases, num_layers, dropout,
        )  # fmt: skip
        bidirectional, batch_first = batch_first, False
    states = tuple(hx) if isinstance(hx, tuple | list) else (hx,)
    if type(params) not in (list, tuple) or type(num_layers) is not int:
        return None
    metas = (*states, *params)
    if len(states) != 1 + (gates == 4) or any(len(s.shape) != 3 for s in states):
        return None
    if input.dtype not in FLOATING or any(m.dtype != input.dtype for m in metas):
        return None
    sizes, first = input.shape, states[0].shape
    if any(0 in meta.shape for meta in (input, *metas)):
        return None
    if len(sizes) != (3 if steps is None else 2):
        return None
    if steps is not None and len(steps.shape) != 1:
        return None
    projected = first[2] if first[2] != states[-1].shape[2] else 0
    batch = sizes[0 if batch_first else 1] if steps is None else first[1]
    length = sizes[1 if batch_first else 0] if steps is None else steps.shape[0]
    layers = Layers(
        gates, length, batch, None if steps is None else sizes[0], sizes[-1],
        states[-1].shape[2], projected, num_layers, 2 if bidirectional else 1,
        bool(has_biases), bool(batch_first),
    )  # fmt: skip
    if [s.shape for s in states] != layers.states():
        return None
    return layers if [p.shape for p in params] == layers.weights() else None


def outputs_of(layers: Layers, dtype: str) -> tuple[Made, ...]:
    """Return the output and the last states, with their grad_fn names on the CPU.

    oneDNN runs an LSTM without projections in float32, and a packed one only if all
    lengths are equal; whether it runs halves depends on the processor.
    """
    lstm = layers.gates == 4
    fused = lstm and not layers.projected and dtype != "float64"
    packed = layers.rows is not None
    node: str | None = "StackBackward0"
    if layers.batch_first:
        node = "TransposeBackward0" if lstm else "TransposeBackward1"
    elif packed or layers.directions == 2:
        node = "CatBackward0"
    elif fused:
        node = "MkldnnRnnLayerBackward0"
    if fused and (packed or dtype != "float32"):
        node = None
    shape, stride = layers.output(), None
    if layers.batch_first:
        a, b, c = contiguous((shape[1], shape[0], shape[2]))
        stride = (b, a, c)
    lasts = (Made(want, dtype, None, "StackBackward0") for want in layers.states())
    return (Made(shape, dtype, stride, node), *lasts)


def _flops(input: Meta, hx: Any, params: Any, *more: Any, **__: Any) -> int:
    """Count the FLOPs; each step multiplies by every weight matrix once."""
    if len(input.shape) == 2:
        weights = sum(
            prod(weight.shape) for weight in more[0] if len(weight.shape) == 2
        )
        return 2 * input.shape[0] * int(weights)
    weights = sum(prod(param.shape) for param in params if len(param.shape) == 2)
    return 2 * prod(input.shape[:2]) * int(weights)


def _register(name: str, gates: int) -> None:
    @rule(f"torch.{name}", flops=_flops)
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
        """`(16, 8, 32)` into 64 gives (16, 8, 64) and states (1, 8, 64)."""
        layers = layers_of(
            gates, input, hx, params, has_biases, num_layers, dropout, train,
            bidirectional, batch_first,
        )  # fmt: skip
        return NotImplemented if layers is None else outputs_of(layers, input.dtype)


for _name, _gates in GATES.items():
    _register(_name, _gates)


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
        operands = (*states, w_ih, w_hh, *(b for b in (b_ih, b_hh) if b is not None))
        if input.dtype not in FLOATING or any(m.dtype != input.dtype for m in operands):
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
        outputs = tuple(Made(want, input.dtype, None, node) for node in nodes)
        return outputs if len(outputs) > 1 else outputs[0]


_register_cell("lstm_cell", 4, ("MulBackward0", "AddBackward0"))
_register_cell("gru_cell", 3, ("AddBackward0",))
_register_cell("rnn_tanh_cell", 1, ("TanhBackward0",))
_register_cell("rnn_relu_cell", 1, ("ReluBackward0",))
