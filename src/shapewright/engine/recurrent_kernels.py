"""Recurrent layers as a GPU runs them: one call of cuDNN for all steps and layers.

Step by step, as torch runs them on `meta`, each gate of each step is a tensor of its
own that backward needs. cuDNN returns the outputs and keeps one block for backward,
`reserve`. Its size follows those of 140 layers on an H200 with torch 2.11, to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

_ATEN: Any = torch.ops.aten

LSTM = 2

MODES = {_ATEN.rnn_relu: 0, _ATEN.rnn_tanh: 1, _ATEN.lstm: LSTM, _ATEN.gru: 3}
"""Layers by the number that torch gives them, `cudnnRNNMode_t`."""

KEPT = {0: 1, 1: 1, 2: 5, 3: 6}
"""Numbers that backward needs for each number that a layer puts out, by mode."""

SLACK = 256
"""Bytes more of what is kept for backward."""


def register_recurrent_layers(library: torch.library.Library) -> None:
    """Let recurrent layers of meta tensors be one kernel each, in a library's scope."""
    assert library.m is not None
    library.m.impl("_cudnn_rnn", "Meta", _run_layers)
    library.m.impl("_cudnn_rnn_backward", "Meta", _run_backward)
    for layer, mode in MODES.items():
        for overload in ("input", "data"):
            kernel = _build_layer(mode, is_packed=overload == "data")
            name = f"{layer.__name__}.{overload}"
            library.impl(name, kernel, "AutogradMeta")
            library.m.impl(name, "Meta", kernel)


def _build_layer(mode: int, is_packed: bool) -> Callable[..., Any]:
    """Return `lstm.input`, `gru.data` and their like as one call of cuDNN."""

    def run(*args: Any) -> Any:
        x, *rest = args
        lengths: Sequence[int] = (x.shape[0],) if is_packed else ()
        if is_packed:
            rest = [*rest[1:], False]
        hidden, weights, has_biases, layers, dropout, training, both, first = rest
        states = list(hidden) if mode == LSTM else [hidden]
        if torch.is_autocast_enabled("cuda"):
            dtype = torch.get_autocast_dtype("cuda")
            x, *states = (t.to(dtype) for t in (x, *states))
            cast: Any = _CastWeights.apply
            weights = list(cast(dtype, *weights))
        is_projected = mode == LSTM and states[0].shape[2] != states[1].shape[2]
        size = states[-1].shape[2]
        stride = (4 if has_biases else 2) + is_projected
        output, hy, cy, _, _ = _ATEN._cudnn_rnn(
            x, weights, stride, None, states[0], states[1] if mode == LSTM else None,
            mode, size, states[0].shape[2] if is_projected else 0, layers, first,
            dropout, training, both, list(lengths), None,
        )  # fmt: skip
        return (output, hy, cy) if mode == LSTM else (output, hy)

    return run


class _CastWeights(torch.autograd.Function):
    """All weights of a layer in another dtype, in one block."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *weights: torch.Tensor) -> Any:
        ctx.dtypes = [weight.dtype for weight in weights]
        count = sum(weight.numel() for weight in weights)
        return _split_block(torch.empty(count, dtype=dtype, device="meta"), weights)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        pairs = zip(gradients, ctx.dtypes, strict=True)
        return (None, *(gradient.to(dtype) for gradient, dtype in pairs))


def _split_block(
    block: torch.Tensor, weights: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Return views of a block in the shapes of the weights."""
    parts = block.split([weight.numel() for weight in weights])
    return tuple(p.view(w.shape) for p, w in zip(parts, weights, strict=True))


def _run_layers(
    x: torch.Tensor,
    weights: list[torch.Tensor],
    stride: int,
    block: torch.Tensor | None,
    hx: torch.Tensor,
    cx: torch.Tensor | None,
    mode: int,
    size: int,
    projected: int,
    layers: int,
    first: bool,
    dropout: float,
    training: bool,
    both: bool,
    lengths: Sequence[int],
    state: torch.Tensor | None,
) -> tuple[torch.Tensor, ...]:
    """Return the output, the last states, what backward needs, and the weights."""
    width = (projected or size) * (2 if both else 1)
    output = x.new_empty((*x.shape[:-1], width))
    if first and not lengths:  # as cuDNN writes it: step by step
        steps = (x.shape[1], x.shape[0], width)
        output = x.new_empty(steps).transpose(0, 1)
    kept = 0
    if training:
        kept = _count_kept_bytes(output, mode, size, projected, layers, both, dropout)
    reserve = x.new_empty((kept,), dtype=torch.uint8)
    cy = torch.empty_like(cx) if cx is not None else x.new_empty((0,))
    return output, torch.empty_like(hx), cy, reserve, x.new_empty((0,))


def _count_kept_bytes(
    output: torch.Tensor,
    mode: int,
    size: int,
    projected: int,
    layers: int,
    both: bool,
    dropout: float,
) -> int:
    """Return the bytes that cuDNN keeps for backward.

    Example: an LSTM of one layer keeps five numbers for each number of its output.
    """
    sides = 2 if both else 1
    steps = output.numel() // output.shape[-1]
    each_layer = steps * size * sides * output.itemsize
    between = steps * (projected or size) * sides * output.itemsize * (layers - 1)
    total = KEPT[mode] * each_layer * layers + between + SLACK
    if projected:
        total += steps * (size + projected) * sides * output.itemsize * layers
    if dropout:
        total += between // 32
    return total


def _run_backward(
    x: torch.Tensor,
    weights: list[torch.Tensor],
    stride: int,
    block: torch.Tensor,
    hx: torch.Tensor,
    cx: torch.Tensor | None,
    *rest: Any,
) -> tuple[Any, ...]:
    """Return the gradients of input, states and weights, the last in one block."""
    wanted = rest[-1]
    count = sum(weight.numel() for weight in weights)
    gradients = list(_split_block(x.new_empty((count,)), weights)) if wanted[3] else []
    return (
        torch.empty_like(x) if wanted[0] else None,
        torch.empty_like(hx) if wanted[1] else None,
        torch.empty_like(cx) if wanted[2] and cx is not None else None,
        gradients,
    )
