"""Recurrent layers drawn at random, and what programs do with their gradients."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

Program = Callable[..., Any]


def drawn_layer(chance: random.Random) -> nn.RNNBase:
    """An LSTM, GRU or RNN with any of its settings, some weights frozen."""
    kind = chance.choice(["LSTM", "LSTM", "GRU", "RNN"])
    more: dict[str, Any] = {}
    if kind == "LSTM" and chance.random() < 0.3:
        more["proj_size"] = 2
    if kind == "RNN":
        more["nonlinearity"] = chance.choice(["tanh", "relu"])
    layer: nn.RNNBase = getattr(nn, kind)(
        chance.choice([1, 4]),
        5,
        chance.choice([1, 1, 2, 3]),
        bias=chance.random() < 0.7,
        batch_first=chance.random() < 0.5,
        dropout=chance.choice([0.0, 0.5]),
        bidirectional=chance.random() < 0.4,
        dtype=chance.choice([torch.float32, torch.float32, torch.float64]),
        **more,
    )
    if chance.random() < 0.2:
        for weight in layer.parameters():
            weight.requires_grad_(chance.random() < 0.5)
    layer.train(chance.random() < 0.7)
    return layer


@dataclass
class Drawn:
    """A layer, its input, the lengths of a packed one, and its states or None."""

    layer: nn.RNNBase
    x: Tensor
    lengths: list[int] | None
    states: Any

    def tensors(self) -> list[Tensor]:
        """All that a call reads."""
        several = self.states if isinstance(self.states, tuple) else [self.states]
        given = [each for each in several if each is not None]
        return [self.x, *given, *self.layer.parameters()]

    def wanted(self) -> list[Tensor]:
        """Those that require gradients."""
        return [each for each in self.tensors() if each.requires_grad]

    def run(self) -> list[Tensor]:
        """The output and the last states."""
        x: Any = self.x
        if self.lengths is not None:
            x = pack_padded_sequence(
                x, torch.tensor(self.lengths), self.layer.batch_first
            )
        output, last = self.layer(x, self.states)
        self.states = last
        output = output.data if isinstance(output, tuple) else output
        return [output, *(last if isinstance(last, tuple) else [last])]


def drawn_call(seed: int) -> Drawn:
    """A call that a seed decides."""
    chance = random.Random(seed)
    torch.manual_seed(seed)
    layer = drawn_layer(chance)
    dtype = layer.weight_ih_l0.dtype
    steps, batch = chance.choice([1, 2, 6]), chance.choice([1, 2, 3])
    batched = chance.random() < 0.85
    sizes = (batch, steps) if layer.batch_first else (steps, batch)
    shape = (*(sizes if batched else (steps,)), layer.input_size)
    x = torch.randn(shape, dtype=dtype)
    if batched and chance.random() < 0.3:
        x = torch.randn(shape[1], shape[0], shape[2], dtype=dtype).transpose(0, 1)
    x.requires_grad_(chance.random() < 0.5)
    lengths = None
    if batched and batch > 1 and chance.random() < 0.25:
        lengths = [steps] * batch
        if chance.random() < 0.7:
            lengths = [max(steps - n, 1) for n in range(batch)]
    states = drawn_states(chance, layer, batch if batched else None)
    return Drawn(layer, x, lengths, states)


def drawn_states(chance: random.Random, layer: nn.RNNBase, batch: int | None) -> Any:
    """Hidden states, with and without gradients, expanded or whole; or None."""
    if chance.random() < 0.4:
        return None
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    widths = [layer.proj_size or layer.hidden_size, layer.hidden_size]
    states = []
    for width in widths[: 2 if layer.mode == "LSTM" else 1]:
        shape = (rows, width) if batch is None else (rows, batch, width)
        state = torch.zeros(shape, dtype=layer.weight_ih_l0.dtype)
        if batch is not None and chance.random() < 0.3:
            state = torch.zeros(rows, 1, width, dtype=state.dtype).expand(shape)
        states.append(state.requires_grad_(chance.random() < 0.4))
    return tuple(states) if len(states) == 2 else states[0]


def gradients(drawn: Drawn) -> Any:
    """Gradients of each output alone, then of all, of all that requires them."""
    wanted = drawn.wanted()
    outputs = drawn.run()
    found: list[Any] = [*outputs]
    for several in (*([each] for each in outputs), outputs):
        if all(each.requires_grad for each in several):
            start = [torch.ones_like(each) for each in several]
            found += torch.autograd.grad(
                several, wanted, start, retain_graph=True, allow_unused=True
            )
    return found


def step(drawn: Drawn) -> Any:
    """A loss, its backward pass, and what stands in `.grad` then."""
    given = drawn.tensors()
    loss = sum(each.square().mean() for each in drawn.run()[::2])
    loss.backward()
    return [each.grad for each in given if each.is_leaf]


def backward_twice(drawn: Drawn) -> Any:
    """Backward from the output, then from a state: torch refuses the second."""
    outputs = drawn.run()
    outputs[0].sum().backward()
    outputs[-1].sum().backward()
    return outputs


def graph_retained(drawn: Drawn) -> Any:
    """The same, where the graph is kept."""
    outputs = drawn.run()
    outputs[0].sum().backward(retain_graph=True)
    outputs[-1].sum().backward()
    return [each.grad for each in drawn.layer.parameters()]


def written(place: int) -> Program:
    """A tensor that went in or came out is written before the backward pass."""

    def write(drawn: Drawn) -> Any:
        several = drawn.tensors()[drawn.x.dim() == 2 :]  # not what is viewed there
        outputs = drawn.run()
        several += outputs
        loss = outputs[0].square().sum() + outputs[-1].sum()
        with torch.no_grad():
            several[place % len(several)].add_(1)
        try:
            loss.backward()
        except RuntimeError as error:  # versions and names of types are not compared
            return re.sub(r"\d+", "N", str(error).partition(": [")[0])
        return [each.grad for each in drawn.layer.parameters()]

    return write


def gradients_of_gradients(drawn: Drawn) -> Any:
    """As of a gradient penalty."""
    drawn.lengths = None  # the packing itself is not followed so far
    wanted = drawn.wanted()
    loss = drawn.run()[0].square().sum()
    first = torch.autograd.grad(loss, wanted, create_graph=True, allow_unused=True)
    penalty = sum(each.square().sum() for each in first if each is not None)
    second = torch.autograd.grad(penalty, wanted, allow_unused=True)
    return [*first, *(each is None or (each.shape, str(each.dtype)) for each in second)]


def states_carried(drawn: Drawn) -> Any:
    """Steps that hand their states on, with their graph."""
    for _ in range(2):
        drawn.run()[0].sum().backward()
    return [each.grad for each in drawn.layer.parameters()]


def states_detached(drawn: Drawn) -> Any:
    """Steps that hand their states on, without it."""
    found = []
    for _ in range(3):
        outputs = drawn.run()
        outputs[0].sum().backward()
        found += outputs
        lasts = tuple(each.detach() for each in outputs[1:])
        drawn.states = lasts if len(lasts) == 2 else lasts[0]
    return found


def hooks(drawn: Drawn) -> Any:
    """Hooks on outputs and weights see gradients as torch's are."""
    seen: list[Tensor] = []
    outputs = drawn.run()
    for each in [*outputs, *drawn.layer.parameters()]:
        if each.requires_grad:
            each.register_hook(lambda gradient: seen.append(gradient))
    sum(each.sum() for each in outputs).backward()
    return sorted((tuple(each.shape), str(each.dtype)) for each in seen)


def graph_off(drawn: Drawn) -> Any:
    """A call without gradients, and one with, of which a part is written."""
    with torch.no_grad():
        first = drawn.run()
    with torch.inference_mode():
        drawn.run()
    drawn.states = None
    outputs = drawn.run()
    outputs[0].sum().backward()
    return [*first, *outputs]


PROGRAMS: dict[str, Program] = {
    "gradients": gradients,
    "step": step,
    "backward twice": backward_twice,
    "graph retained": graph_retained,
    "gradients of gradients": gradients_of_gradients,
    "states carried": states_carried,
    "states detached": states_detached,
    "hooks": hooks,
    "graph off": graph_off,
    **{f"written {place}": written(place) for place in range(-3, 8)},
}
