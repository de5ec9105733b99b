"""A recurrent call in small, on real CPU tensors: what autograd does with it.

A layer over 200 steps has thousands of nodes; which inputs they reach, what they save
and how they lay gradients is the same over two steps of three rows. So torch itself
is asked, with operands of the same dtypes, strides and flags.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from shapewright.capture import autocast, nests
from shapewright.capture.identity import Info
from shapewright.capture.replacement import one_thread

Tensor = torch.Tensor
Shape = tuple[int, ...]
STEPS, ROWS, WIDTH, HIDDEN, PROJECTED = 2, 3, 5, 7, 4
"""Sizes of a miniature, each a different one: a size of 1 stays 1."""


class Miniature:
    """The operands of one call in small, in their order, and what came out."""

    __slots__ = ("inputs", "outputs")

    def __init__(self, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        self.inputs = inputs
        self.outputs = outputs


def run_miniature(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    infos: list[Info],
    shapes: list[Shape],
    lengths: list[int] | None,
) -> Miniature:
    """Call the function on tensors of these `shapes`, else as the operands are.

    `lengths` are the batch sizes of packed steps, which are the second operand.
    """
    made = [
        small_tensor(info, shape) for info, shape in zip(infos, shapes, strict=True)
    ]
    if lengths is not None:
        made[1] = torch.tensor(lengths, device="cpu")
    counter = iter(made)
    small = nests.swap(without_dropout(args), lambda _: next(counter))
    kind = autocast.kind_of([info.meta for info in infos])
    if kind == "cuda":
        small, _ = autocast.cast_tensors(func.__name__, small, infos)
    with one_thread(), cpu_autocast(kind):
        out = func(*small)
    return Miniature(made, nests.tensors(out))


def cpu_autocast(kind: str | None) -> AbstractContextManager[Any]:
    """The CPU's autocast is as it is for operands on the CPU, else off."""
    if kind == "cpu" or not torch.is_autocast_enabled("cpu"):
        return nullcontext()
    return torch.autocast("cpu", enabled=False)


def without_dropout(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Its share is the one float among the arguments; nothing is drawn without it."""
    return tuple(0.0 if isinstance(each, float) else each for each in args)


def small_tensor(info: Info, shape: Shape) -> Tensor:
    """Zeros of this shape, laid as the operand is."""
    meta = info.meta
    stride = laid_like(meta.shape, meta.stride, shape)
    tensor = torch.empty_strided(shape, stride, dtype=meta.torch_dtype, device="cpu")
    storage: Any = tensor.untyped_storage()
    storage.fill_(0)
    return tensor.requires_grad_(meta.requires_grad)


def laid_like(shape: Shape, stride: Shape, other: Shape) -> Shape:
    """The strides of a tensor of another shape whose dims lie in the same order.

    `(3, 2, 5)` by `(5, 15, 1)` and `(8, 200, 64)` give `(64, 512, 1)`. Expanded dims
    stay expanded.
    """
    found = [0] * len(shape)
    step, size = 1, 1
    steps = {1: 1}  # of dims of size 1, by the stride that they have
    for dim in sorted(range(len(shape)), key=lambda dim: (stride[dim], -dim)):
        if stride[dim] and shape[dim] > 1:
            found[dim] = step
            step, size = step * other[dim], size * shape[dim]
            steps[size] = step
    for dim, sides in enumerate(shape):
        if sides == 1:
            found[dim] = steps.get(stride[dim], step)
    return tuple(found)
