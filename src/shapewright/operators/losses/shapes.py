"""Metadata rules for loss functions.

If the reduction is "none", only operands in row-major order are covered, as each step's
layout would follow from the step before. Deprecated arguments, and calls that torch
warns about, are left to torch, so that its warning is shown.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.operators.linear_algebra.shapes import common_shape
from shapewright.operators.metadata_rules import (
    SCALAR_TYPE,
    Made,
    Meta,
    Misfit,
    listed,
    rule,
)
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    broadcast,
    fits,
    is_plain,
)
from shapewright.sizes.strides import (
    compute_elementwise_strides,
    contiguous,
    is_contiguous,
    is_dense,
)

Shape = tuple[int, ...]

_REDUCTIONS = ("none", "mean", "sum")


def _compared(input: Meta, target: Meta, reduction: str, grad_fn: str) -> Any:
    """Infer the output of an elementwise loss of two tensors of one shape and dtype."""
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
        return _match_strides(input, target, grad_fn)
    operands = [(shape, input.stride), (shape, target.stride)]
    return Made(shape, dtype, compute_elementwise_strides(shape, operands), grad_fn)


_ITERATED = ("MseLossBackward0", "SmoothL1LossBackward0")
"""The losses that iterate once over both tensors, in that order."""


def _match_strides(input: Meta, target: Meta, grad_fn: str) -> Any:
    """Infer the output if both have the same, unambiguous strides."""
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
    """Infer the output: two of `(8, 10)` give a 0-dim tensor."""
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
    """Infer the output as `mse_loss` does; the node is that of its last step."""
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
    """Infer the output as `mse_loss` does."""
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
    """Infer the output as `mse_loss` does."""
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
    """Infer the output: two of `(8, 10)` give a 0-dim tensor."""
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
        expected, actual = SCALAR_TYPE[input.dtype], SCALAR_TYPE.get(target.dtype)
        if 0 in input.shape or actual is None:
            return NotImplemented
        raise Misfit(f"Found dtype {actual} but expected {expected}")
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
    """Infer the output: two of `(8, 10)` give a 0-dim tensor."""
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
    """Infer the output: log-probabilities `(8, 10)` and classes `(8,)` give 0-dim."""
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
    """Infer 0-dim for logits `(8, 10)` with classes `(8,)` or shares `(8, 10)`."""
    shape = input.shape
    if size_average is not None or reduce is not None:
        return NotImplemented
    if shape == target.shape and len(shape) > 0:
        return _of_probabilities(input, target, weight, reduction, label_smoothing)
    output = _of_classes(input, target, weight, reduction)
    if output is NotImplemented or not label_smoothing:
        return output
    return Made(output.shape, output.dtype, output.stride, "AddBackward0")


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


def _reduced(shape: Shape, dtype: str, reduction: str, node: str) -> Any:
    """Return the loss of that shape, or its mean or sum; `node` is for no reduction."""
    if reduction == "none":
        return Made(shape, dtype, None, node)
    nodes = {"mean": "MeanBackward0", "sum": "SumBackward0"}
    if reduction not in nodes:
        return NotImplemented
    return Made((), dtype, (), nodes[reduction])


def _compute_elementwise_loss(reduction: str, node: str, *metas: Meta) -> Any:
    """Infer an elementwise loss of float tensors of one shape and dtype."""
    first = metas[0]
    if first.dtype not in FLOATING or 0 in first.shape:
        return NotImplemented
    if any((m.shape, m.dtype) != (first.shape, first.dtype) for m in metas):
        return NotImplemented
    if reduction == "none" and not is_plain(*metas):
        return NotImplemented
    return _reduced(first.shape, first.dtype, reduction, node)


@rule("torch.nn.functional.kl_div")
def kl_div(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    """Infer a 0-dim loss of two of (8, 10); leaves "mean", which warns, to torch."""
    if size_average is not None or reduce is not None or reduction == "mean":
        return NotImplemented
    node = "MulBackward0" if log_target else "SubBackward0"
    if reduction != "batchmean":
        return _compute_elementwise_loss(reduction, node, input, target)
    output = _compute_elementwise_loss("sum", node, input, target)
    if output is NotImplemented or not input.shape:
        return NotImplemented
    return Made((), input.dtype, (), "DivBackward0")


@rule("torch.nn.functional.triplet_margin_loss")
def triplet_margin_loss(
    anchor: Meta, positive: Meta, negative: Meta, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: three of (8, 64) give a 0-dim tensor, or (8,) if unreduced."""
    if size_average is not None or reduce is not None or margin <= 0:
        return NotImplemented
    if len({len(meta.shape) for meta in (anchor, positive, negative)}) > 1:
        return NotImplemented
    shape = common_shape(anchor, positive, negative)
    if not shape:
        return NotImplemented
    return _reduced(shape[:-1], anchor.dtype, reduction, "ClampMinBackward0")


@rule("torch.nn.functional.margin_ranking_loss")
def margin_ranking_loss(
    input1: Meta, input2: Meta, target: Meta, margin: float = 0,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: three of (8,) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return _compute_elementwise_loss(
        reduction, "ClampMinBackward0", input1, input2, target
    )


@rule("torch.nn.functional.hinge_embedding_loss")
def hinge_embedding_loss(
    input: Meta, target: Meta, margin: float = 1.0, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: two of (8,) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return _compute_elementwise_loss(reduction, "AddBackward0", input, target)


@rule("torch.nn.functional.soft_margin_loss")
def soft_margin_loss(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer a 0-dim loss of two of (8, 10); the target must not require grad."""
    if size_average is not None or reduce is not None or target.requires_grad:
        return NotImplemented
    output = _compute_elementwise_loss(
        reduction, "SoftMarginLossBackward0", input, target
    )
    if output is NotImplemented:
        return output
    return Made(output.shape, output.dtype, None, "SoftMarginLossBackward0")


@rule("torch.nn.functional.cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Meta, input2: Meta, target: Meta, margin: float = 0,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: two of (8, 64), a target (8,) give a 0-dim tensor."""
    shape, dtype = input1.shape, input1.dtype
    if size_average is not None or reduce is not None or dtype not in FLOATING:
        return NotImplemented
    if len(shape) != 2 or shape != input2.shape or target.shape != shape[:1]:
        return NotImplemented
    if 0 in shape or input2.dtype != dtype or target.dtype not in (dtype, "int64"):
        return NotImplemented
    return _reduced(shape[:1], dtype, reduction, "AddBackward0")


@rule("torch.nn.functional.multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input: Meta, target: Meta, weight: Meta | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: two of (8, 10) give a 0-dim tensor, or (8,) if unreduced."""
    if size_average is not None or reduce is not None or weight is not None:
        return NotImplemented
    output = _compute_elementwise_loss("sum", "", input, target)
    if output is NotImplemented or not input.shape:
        return NotImplemented
    return _reduced(input.shape[:-1], input.dtype, reduction, "DivBackward0")


@rule("torch.nn.functional.poisson_nll_loss")
def poisson_nll_loss(
    input: Meta, target: Meta, log_input: bool = True, full: bool = False,
    size_average: Any = None, eps: float = 1e-8, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: two of (8, 10) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    if full and reduction == "none":
        return NotImplemented
    return _compute_elementwise_loss(reduction, "SubBackward0", input, target)


@rule("torch.nn.functional.multi_margin_loss")
def multi_margin_loss(
    input: Meta, target: Meta, p: int = 1, margin: float = 1.0,
    weight: Meta | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: scores (8, 10) and classes (8,) give a 0-dim tensor."""
    if size_average is not None or reduce is not None or p not in (1, 2):
        return NotImplemented
    return _of_labels(input, target, weight, input.shape[:1], reduction, "MultiMargin")


@rule("torch.nn.functional.multilabel_margin_loss")
def multilabel_margin_loss(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Infer the output: scores (8, 10), labels (8, 10) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    shape = input.shape
    return _of_labels(input, target, None, shape, reduction, "MultilabelMargin")


def _of_labels(
    input: Meta, target: Meta, weight: Any, want: Shape, reduction: str, name: str
) -> Any:
    shape, dtype = input.shape, input.dtype
    if dtype not in ("float32", "float64") or len(shape) != 2 or 0 in shape:
        return NotImplemented
    if target.shape != want or target.dtype != "int64" or weight is not None:
        return NotImplemented
    node = f"{name}LossBackward0"
    output = _reduced(shape[:1], dtype, reduction, node)
    if output is NotImplemented:
        return output
    return Made(output.shape, dtype, None, node)


_COMPUTED = 1 << 18
"""Log-probabilities up to which the real loss is computed, with the lengths' values."""


@rule("torch.nn.functional.ctc_loss")
def ctc_loss(
    log_probs: Meta,
    targets: Meta,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Infer the output of a large loss: `(1600, 24, 500)` gives a 0-dim tensor.

    torch has no kernel for it without data. Smaller ones are computed.
    """
    shape, dtype = log_probs.shape, log_probs.dtype
    if len(shape) not in (2, 3) or prod(shape) <= _COMPUTED:
        return NotImplemented
    if reduction not in _REDUCTIONS or not 0 <= blank < shape[-1]:
        return NotImplemented
    count = shape[1] if len(shape) == 3 else 1
    named = ("input_lengths", input_lengths), ("target_lengths", target_lengths)
    for name, lengths in named:
        if isinstance(lengths, tuple | list):
            has = len(lengths)
        elif lengths.dtype in FLOATING:
            return NotImplemented
        else:
            has = prod(lengths.shape)
        if has != count:
            raise Misfit(f"{name} must be of size batch_size")
    if len(targets.shape) == 2 and targets.shape[0] != count:
        return NotImplemented
    if dtype not in ("float32", "float64") or targets.dtype in FLOATING:
        return NotImplemented
    if reduction != "none":
        node = "MeanBackward0" if reduction == "mean" else "SumBackward0"
        return Made((), dtype, (), node)
    batch = shape[1:2] if len(shape) == 3 else ()
    node = "WhereBackward0" if zero_infinity else "CtcLossBackward0"
    return Made(batch, dtype, contiguous(batch), node if batch else "SqueezeBackward1")
