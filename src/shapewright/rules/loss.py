"""Losses: elementwise ones with a reduction, and cross entropy.

Deprecated arguments (`size_average`, `reduce`) and calls that torch warns about are
left to torch, so that its warning is heard.
"""

from __future__ import annotations

from typing import Any

from shapewright.rules.broadcasting import broadcast, fits
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule
from shapewright.rules.strides import (
    contiguous,
    is_contiguous,
    is_dense,
    iterated,
)
from shapewright.rules.wording import SCALAR_TYPE, listed

Shape = tuple[int, ...]

_REDUCTIONS = ("none", "mean", "sum")


def _compared(input: Meta, target: Meta, reduction: str, grad_fn: str) -> Any:
    """An elementwise loss of two tensors of one shape and dtype."""
    shape, dtype = input.shape, input.dtype
    if dtype not in FLOATING or target.dtype != dtype or reduction not in _REDUCTIONS:
        return NotImplemented
    if shape != target.shape:
        broadcast(shape, target.shape)
        return NotImplemented
    if reduction != "none":
        return Made((), dtype, (), grad_fn)
    if 0 in shape:
        return NotImplemented
    if grad_fn not in _ITERATED:
        return _alike(input, target, grad_fn)
    operands = [(shape, input.stride), (shape, target.stride)]
    return Made(shape, dtype, iterated(shape, operands), grad_fn)


_ITERATED = ("MseLossBackward0", "SmoothL1LossBackward0")
"""The losses that are one pass over both tensors, in that order."""


def _alike(input: Meta, target: Meta, grad_fn: str) -> Any:
    """The strides of both, where these are the same and leave no room for doubt."""
    shape, stride = input.shape, input.stride
    if stride != target.stride or (1 in shape and not is_contiguous(shape, stride)):
        return NotImplemented
    if 1 in shape and stride != contiguous(shape):
        return NotImplemented
    if not is_dense(shape, stride):
        return NotImplemented
    return Made(shape, input.dtype, stride, grad_fn)


@rule("torch.nn.functional.mse_loss", "torch._C._nn.mse_loss")
def mse_loss(
    input: Meta,
    target: Meta,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Meta | None = None,
) -> Any:
    """Two of `(8, 10)` give a 0-dim tensor."""
    if size_average is not None or reduce is not None or weight is not None:
        return NotImplemented
    return _compared(input, target, reduction, "MseLossBackward0")


@rule("torch.nn.functional.l1_loss", "torch._C._nn.l1_loss")
def l1_loss(
    input: Meta,
    target: Meta,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Meta | None = None,
) -> Any:
    """As `mse_loss`; the node is that of its last step."""
    if size_average is not None or reduce is not None or weight is not None:
        return NotImplemented
    nodes = {"mean": "MeanBackward0", "sum": "SumBackward0", "none": "AbsBackward0"}
    return _compared(input, target, reduction, nodes.get(reduction, ""))


@rule("torch.nn.functional.smooth_l1_loss")
def smooth_l1_loss(
    input: Meta,
    target: Meta,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """As `mse_loss`."""
    if size_average is not None or reduce is not None or beta <= 0:
        return NotImplemented
    return _compared(input, target, reduction, "SmoothL1LossBackward0")


@rule("torch.nn.functional.huber_loss")
def huber_loss(
    input: Meta,
    target: Meta,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Meta | None = None,
) -> Any:
    """As `mse_loss`."""
    if weight is not None or delta <= 0:
        return NotImplemented
    return _compared(input, target, reduction, "HuberLossBackward0")


@rule("torch.nn.functional.binary_cross_entropy")
def binary_cross_entropy(
    input: Meta,
    target: Meta,
    weight: Meta | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Two of `(8, 10)` give a 0-dim tensor."""
    if size_average is not None or reduce is not None or weight is not None:
        return NotImplemented
    if reduction not in _REDUCTIONS:
        return NotImplemented
    if input.shape != target.shape:
        raise Misfit(
            f"Using a target size (torch.Size({listed(target.shape)})) that is "
            f"different to the input size (torch.Size({listed(input.shape)})) is "
            "deprecated. Please ensure they have the same size.",
            "ValueError",
        )
    if input.dtype in FLOATING and target.dtype != input.dtype:
        one, two = SCALAR_TYPE[input.dtype], SCALAR_TYPE.get(target.dtype)
        if 0 in input.shape or two is None:
            return NotImplemented
        raise Misfit(f"Found dtype {two} but expected {one}")
    return _compared(input, target, reduction, "BinaryCrossEntropyBackward0")


@rule("torch.nn.functional.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Meta,
    target: Meta,
    weight: Meta | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Meta | None = None,
) -> Any:
    """Two of `(8, 10)` give a 0-dim tensor."""
    if size_average is not None or reduce is not None or weight is not None:
        return NotImplemented
    if input.shape != target.shape:
        raise Misfit(
            f"Target size (torch.Size({listed(target.shape)})) must be the same as "
            f"input size (torch.Size({listed(input.shape)}))",
            "ValueError",
        )
    if pos_weight is not None and (
        pos_weight.dtype != input.dtype
        or not fits(input.shape, pos_weight.shape)
        or reduction == "none"
    ):
        return NotImplemented
    grad_fn = "BinaryCrossEntropyWithLogitsBackward0"
    return _compared(input, target, reduction, grad_fn)


@rule("torch.nn.functional.nll_loss")
def nll_loss(
    input: Meta,
    target: Meta,
    weight: Meta | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Log-probabilities `(8, 10)` and classes `(8,)` give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return _of_classes(input, target, weight, reduction)


def _of_classes(input: Meta, target: Meta, weight: Meta | None, reduction: str) -> Any:
    shape, dtype, ndim = input.shape, input.dtype, len(input.shape)
    if not shape or 0 in shape or dtype not in FLOATING or reduction not in _REDUCTIONS:
        return NotImplemented
    if target.dtype not in SCALAR_TYPE:
        return NotImplemented
    want = (shape[0], *shape[2:]) if ndim > 1 else ()
    if target.shape != want or target.dtype not in ("int64", "uint8"):
        _check_classes(shape, target, want)
        return NotImplemented
    classes = shape[1] if ndim > 1 else shape[0]
    if weight is not None and (weight.dtype != dtype or weight.shape != (classes,)):
        return NotImplemented
    flat = ndim in (1, 2)
    if reduction != "none":
        node = "NllLossBackward0" if flat else "NllLoss2DBackward0"
        return Made((), dtype, (), node)
    if flat:
        return Made(want, dtype, None, "NllLossBackward0")
    node = "NllLoss2DBackward0" if ndim == 4 else "ViewBackward0"
    return Made(want, dtype, None, node)


def _check_classes(shape: Shape, target: Meta, want: Shape) -> None:
    ndim, have = len(shape), target.shape
    if ndim > 1 and have and have[0] != shape[0]:
        raise Misfit(
            f"Expected input batch_size ({shape[0]}) to match target batch_size "
            f"({have[0]}).",
            "ValueError",
        )
    if ndim <= 2:
        if len(have) > 1:
            raise Misfit("0D or 1D target tensor expected, multi-target not supported")
        if have == want:
            raise Misfit(
                "expected target dtype to be Long or Byte, but got "
                f"{SCALAR_TYPE[target.dtype]}"
            )
    elif ndim != 4 and have != want and have:
        raise Misfit(f"Expected target size {listed(want)}, got {listed(have)}")


@rule("torch.nn.functional.cross_entropy")
def cross_entropy(
    input: Meta,
    target: Meta,
    weight: Meta | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Logits `(8, 10)` with classes `(8,)` or probabilities `(8, 10)`: 0-dim."""
    shape = input.shape
    if size_average is not None or reduce is not None:
        return NotImplemented
    if shape == target.shape and len(shape) > 0:
        return _of_probabilities(input, target, weight, reduction, label_smoothing)
    made = _of_classes(input, target, weight, reduction)
    if made is NotImplemented or not label_smoothing:
        return made
    return Made(made.shape, made.dtype, made.stride, "AddBackward0")


def _of_probabilities(
    input: Meta,
    target: Meta,
    weight: Meta | None,
    reduction: str,
    label_smoothing: float,
) -> Any:
    shape, dtype = input.shape, input.dtype
    if dtype not in FLOATING or target.dtype != dtype or weight is not None:
        return NotImplemented
    if len(shape) != 2 or 0 in shape or label_smoothing:
        return NotImplemented
    if reduction == "none":
        return Made(shape[:1], dtype, None, "NegBackward0")
    if reduction not in _REDUCTIONS:
        return NotImplemented
    node = "DivBackward1" if reduction == "mean" else "NegBackward0"
    return Made((), dtype, (), node)
