"""Metadata rules for activation functions, softmax and dropout.

A function of `torch.nn.functional` may write its input: with `inplace=True` it returns
`Same`.

Mirrors `aten/src/ATen/native/Dropout.cpp`. On a GPU training uses a fused kernel, whose
grad_fn has another name.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from shapewright.operators.metadata_rules import (
    Made,
    Meta,
    Metadata,
    Misfit,
    Same,
    rule,
    unsupported,
    wrap_dim,
)
from shapewright.operators.pointwise.shapes import Family, Refusals, answer_of
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    KIND,
    KNOWN,
    likened,
    new,
    no_overlap,
    pointwise,
    unary,
    written,
)
from shapewright.sizes.strides import compute_strides_like, contiguous


@dataclass(frozen=True, slots=True)
class _Activation:
    """An activation function that keeps shape and dtype.

    `arguments` says how many numbers may follow the tensor; `new` and `wrote` name the
    functions of `torch` that make a new tensor and that write their argument, `either`
    the one in `torch.nn.functional` that does what `inplace` says.
    """

    family: Family
    grad_fn: str
    new: str = ""
    wrote: str = ""
    either: str = ""
    arguments: tuple[str, ...] = ()
    grad_written: str = ""


def _plain(kind: _Activation) -> Metadata:
    table, grad_fn, arguments = kind.family.table(), kind.grad_fn, kind.arguments

    def metadata(input: Any, *numbers: Any, **named: Any) -> Any:
        if not _ordinary(numbers, named, arguments):
            return NotImplemented
        dtype = answer_of(table, input.dtype)
        return NotImplemented if dtype is None else unary(input, dtype, grad_fn)

    return metadata


def _ordinary(
    numbers: tuple[Any, ...], named: dict[str, Any], arguments: tuple[str, ...]
) -> bool:
    """Return whether only known arguments are given, with positive numbers.

    Torch's messages for other values differ by function, so those calls are left to it.
    """
    if not numbers and not named:
        return True
    if len(numbers) + len(named) > len(arguments) or not named.keys() <= set(arguments):
        return False
    values = (*numbers, *named.values())
    return all(type(value) in (int, float) and value > 0 for value in values)


def _writing(kind: _Activation) -> Metadata:
    table, arguments = kind.family.table(), kind.arguments
    grad_fn = kind.grad_written or kind.grad_fn

    def metadata(input: Any, *numbers: Any, **named: Any) -> Any:
        if not _ordinary(numbers, named, arguments) or KIND.get(input.dtype, 3) == 3:
            return NotImplemented
        if kind.family.kernel:
            no_overlap(input)
        dtype = answer_of(table, input.dtype)
        return NotImplemented if dtype is None else written(input, dtype, grad_fn)

    return metadata


def _either(kind: _Activation) -> Metadata:
    plain, writing = _plain(kind), _writing(kind)
    last = len(kind.arguments)

    def metadata(input: Any, *rest: Any, inplace: Any = False, **named: Any) -> Any:
        if len(rest) > last:
            *rest, inplace = rest  # type: ignore[assignment]
        if not inplace:
            return plain(input, *rest, **named)
        output = writing(input, *rest, **named)
        return output if output is NotImplemented else Same(0, True, output.grad_fn)

    return metadata


_NO_BOOLS: Refusals = {
    "b": ("Boolean inputs not supported for relu", "RuntimeError"),
    "c": ("clamp is not supported for complex types", "NotImplementedError"),
}


def _float(kernel: str) -> Family:
    return Family("hf", "same", kernel)


_RELU = Family("ihf", refuses=_NO_BOOLS)
_NN, _F = "torch._C._nn.", "torch.nn.functional."

ACTIVATIONS = [
    _Activation(_RELU, "ReluBackward0", "torch.relu torch.Tensor.relu",
               "torch.relu_ torch.Tensor.relu_", "relu"),
    _Activation(Family("hfc", "same", "silu_cpu"), "SiluBackward0", f"{_NN}silu",
               f"{_NN}silu_", "silu"),
    _Activation(_float("mish_cpu"), "MishBackward0", f"{_NN}mish", f"{_NN}mish_",
               "mish"),
    _Activation(_float("hardswish_cpu"), "HardswishBackward0", f"{_NN}hardswish",
               f"{_NN}hardswish_", "hardswish"),
    _Activation(_float("hardsigmoid_cpu"), "HardsigmoidBackward0", f"{_NN}hardsigmoid",
               f"{_NN}hardsigmoid_", "hardsigmoid"),
    _Activation(_float("leaky_relu_cpu"), "LeakyReluBackward0", f"{_NN}leaky_relu",
               f"{_NN}leaky_relu_", "leaky_relu", ("negative_slope",),
               "LeakyReluBackward1"),
    _Activation(_float("elu_cpu"), "EluBackward0", f"{_NN}elu", f"{_NN}elu_", "elu",
               ("alpha",), "EluBackward1"),
    _Activation(_float("elu_cpu"), "EluBackward0", "torch.selu", "torch.selu_", "selu",
               (), "EluBackward1"),
    _Activation(_float("elu_cpu"), "CeluBackward0", "torch.celu", "torch.celu_", "celu",
               ("alpha",), "CeluBackward1"),
    _Activation(_float("softplus_cpu"), "SoftplusBackward0", f"{_NN}softplus",
               arguments=("beta", "threshold")),
    _Activation(_float("softshrink_check"), "SoftshrinkBackward0", f"{_NN}softshrink",
               arguments=("lambd",)),
    _Activation(_float("hardshrink_cpu"), "HardshrinkBackward0",
               "torch.hardshrink torch.Tensor.hardshrink", arguments=("lambd",)),
]  # fmt: skip


def _register_all() -> None:
    for kind in ACTIVATIONS:
        rule(*kind.new.split())(_plain(kind))
        if kind.wrote:
            rule(*kind.wrote.split(), writes=0)(_writing(kind))
        if kind.either:
            rule(_F + kind.either)(_either(kind))


_register_all()


@rule(f"{_F}hardtanh", f"{_NN}hardtanh")
def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    """Clamp to [min_val, max_val]; integers, whose bounds matter, are left to torch."""
    if input.dtype not in FLOATING or min_val > max_val:
        return NotImplemented
    if not inplace:
        return likened(input, input.dtype, "HardtanhBackward0")
    return Same(0, True, written(input, input.dtype, "HardtanhBackward0").grad_fn)


@rule(f"{_F}relu6", f"{_NN}relu6")
def relu6(input: Any, inplace: bool = False) -> Any:
    """Clamp to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


@rule(f"{_NN}hardtanh_", f"{_NN}relu6_", writes=0)
def hardtanh_in_place(input: Any, min_val: float = 0.0, max_val: float = 6.0) -> Any:
    """Infer `hardtanh` written into its argument."""
    if input.dtype not in FLOATING or min_val > max_val:
        return NotImplemented
    return written(input, input.dtype, "HardtanhBackward0")


@rule(f"{_NN}log_sigmoid")
def log_sigmoid(input: Any) -> Any:
    """Infer `log(sigmoid(x))`, contiguous on the CPU."""
    shape = input.shape
    if input.dtype not in FLOATING:
        return NotImplemented
    return new(shape, input.dtype, contiguous(shape), "LogSigmoidBackward0")


_GELU = _float("GeluKernelImpl").table()


@rule(f"{_NN}gelu")
def gelu(input: Any, *, approximate: str = "none") -> Any:
    """Infer the output of `gelu`; `approximate` is "none" or "tanh"."""
    if approximate not in ("none", "tanh"):
        raise Misfit("approximate argument must be either none or tanh.")
    dtype = answer_of(_GELU, input.dtype)
    return NotImplemented if dtype is None else unary(input, dtype, "GeluBackward0")


@rule(f"{_F}_threshold")
def threshold(input: Any, threshold: Any, value: Any, inplace: bool = False) -> Any:
    """`x if x > threshold else value`."""
    if input.dtype not in FLOATING or {type(threshold), type(value)} - {int, float}:
        return NotImplemented
    if inplace:  # the kernel takes an expanded input
        return Same(0, True, "ThresholdBackward1")
    both = pointwise(input.dtype, "ThresholdBackward0", input, input)
    return both


@rule(f"{_F}softsign")
def softsign(input: Any) -> Any:
    """`x / (abs(x) + 1)`."""
    if input.dtype not in FLOATING:
        return NotImplemented
    below = pointwise(input.dtype, "", unary(input, input.dtype, ""), 1)
    return pointwise(input.dtype, "DivBackward0", input, below)


@rule(f"{_F}tanhshrink")
def tanhshrink(input: Any) -> Any:
    """`x - tanh(x)`."""
    if input.dtype not in FLOATING:
        return NotImplemented
    return pointwise(input.dtype, "SubBackward0", input, unary(input, input.dtype, ""))


@rule("torch.prelu", "torch.Tensor.prelu")
def prelu(input: Any, weight: Any) -> Any:
    """Infer the output of `prelu`, with one slope or one per channel (dim 1)."""
    shape, slopes = input.shape, weight.shape
    channels = shape[1] if len(shape) > 1 else 1
    if input.dtype not in FLOATING or weight.dtype != input.dtype:
        return NotImplemented
    if len(slopes) > 1 or (slopes and slopes[0] not in (1, channels)) or not shape:
        return NotImplemented
    return likened(input, input.dtype, "PreluKernelBackward0")


@rule(f"{_F}glu", f"{_NN}glu")
def glu(input: Any, dim: int = -1) -> Any:
    """Infer `glu`, where half of a dim gates the other half: (2, 8) gives (2, 4)."""
    ndim = len(input.shape)
    if input.dtype not in FLOATING or not ndim or not -ndim <= dim < ndim:
        return NotImplemented
    dim %= ndim
    size = input.shape[dim]
    if size % 2:
        raise Misfit(
            f"Halving dimension must be even, but dimension {dim} is size {size}"
        )
    shape = (*input.shape[:dim], size // 2, *input.shape[dim + 1 :])
    half = Made(shape, input.dtype, input.stride)
    return pointwise(input.dtype, "GluBackward0", half, half)


_KERNEL = {"SoftmaxBackward0": "softmax", "LogSoftmaxBackward0": "log_softmax"}


def _softmax(input: Meta, dim: int, dtype: str | None, grad_fn: str) -> Any:
    shape, have = input.shape, input.dtype
    ndim = len(shape)
    if type(dim) is not int or have not in KNOWN:
        return NotImplemented
    if dtype is not None and dtype != have:
        if dtype not in FLOATING or have.startswith("complex"):
            return NotImplemented
    elif have not in FLOATING:
        return _no_kernel(input, dim, grad_fn)
    if not -ndim <= dim < ndim:
        wrap_dim(dim, ndim)
    return Made(shape, dtype or have, None, grad_fn)


def _no_kernel(input: Meta, dim: int, grad_fn: str) -> Any:
    at, dtype = wrap_dim(dim, len(input.shape)), input.dtype
    if dtype.startswith("complex") or 0 in input.shape or not input.shape:
        return NotImplemented
    name = _KERNEL[grad_fn]
    if at == len(input.shape) - 1:
        raise unsupported(f"{name}_lastdim_kernel_impl", dtype)
    return NotImplemented


@rule("torch.softmax", "torch.Tensor.softmax", "torch.special.softmax")
def softmax(input: Meta, dim: int, dtype: str | None = None) -> Any:
    """`(8, 12, 16, 16)` over dim -1 gives (8, 12, 16, 16)."""
    return _softmax(input, dim, dtype, "SoftmaxBackward0")


@rule("torch.log_softmax", "torch.Tensor.log_softmax", "torch.special.log_softmax")
def log_softmax(input: Meta, dim: int, dtype: str | None = None) -> Any:
    """`(8, 1000)` over dim 1 gives (8, 1000)."""
    return _softmax(input, dim, dtype, "LogSoftmaxBackward0")


@rule("torch.nn.functional.softmax")
def functional_softmax(
    input: Meta, dim: int | None = None, _stacklevel: int = 3, dtype: str | None = None
) -> Any:
    """Infer `softmax`; without `dim` torch warns, so the call is left to torch."""
    if dim is None:
        return NotImplemented
    return _softmax(input, dim, dtype, "SoftmaxBackward0")


@rule("torch.nn.functional.log_softmax")
def functional_log_softmax(
    input: Meta, dim: int | None = None, _stacklevel: int = 3, dtype: str | None = None
) -> Any:
    """Infer `log_softmax`; a call without `dim` is left to torch."""
    if dim is None:
        return NotImplemented
    return _softmax(input, dim, dtype, "LogSoftmaxBackward0")


@rule("torch.nn.functional.softmin")
def softmin(
    input: Meta, dim: int | None = None, _stacklevel: int = 3, dtype: str | None = None
) -> Any:
    """`softmax(-input)`."""
    if dim is None:
        return NotImplemented
    if input.dtype not in FLOATING:
        return NotImplemented
    return _softmax(input, dim, dtype, "SoftmaxBackward0")


def _product(input: Any, p: float, feature: bool) -> Made:
    """Infer `input * noise`; with `feature`, all values of a channel share it."""
    dtype, shape = input.dtype, input.shape
    if p == 1:
        return pointwise(dtype, _name(input), input, Made((), dtype, ()))
    if feature:
        noise = tuple(size if dim < 2 else 1 for dim, size in enumerate(shape))
        return pointwise(
            dtype, _name(input), input, Made(noise, dtype, contiguous(noise))
        )
    noise_stride = compute_strides_like(shape, input.stride)
    return pointwise(dtype, _name(input), input, Made(shape, dtype, noise_stride))


def _name(input: Any) -> str | None:
    return "MulBackward0" if input.device == "cpu" else None


def _dropped(input: Any, p: Any, train: Any, inplace: Any, feature: bool) -> Any:
    if p == 0 or not train or not prod(input.shape):
        return Same(0)
    if input.dtype not in FLOATING or type(p) not in (int, float):
        return NotImplemented
    if feature and len(input.shape) < 2:
        return NotImplemented
    if not inplace:
        return _product(input, p, feature)
    written(input, input.dtype, None)
    return Same(0, True, _name(input))


def _functional(feature: bool, ndims: tuple[int, ...]) -> Metadata:
    def metadata(
        input: Any, p: Any = 0.5, training: Any = True, inplace: Any = False
    ) -> Any:
        if p < 0.0 or p > 1.0:
            raise Misfit(
                f"dropout probability has to be between 0 and 1, but got {p}",
                "ValueError",
            )
        if ndims and len(input.shape) not in ndims:
            return NotImplemented
        return _dropped(input, p, training, inplace, feature)

    return metadata


rule("torch.nn.functional.dropout", random=True)(_functional(False, ()))
rule("torch.nn.functional.dropout2d", random=True)(_functional(True, (4,)))


rule("torch.nn.functional.dropout1d", random=True)(_functional(True, (3,)))
rule("torch.nn.functional.dropout3d", random=True)(_functional(True, (5,)))


def _alpha(
    input: Any, p: Any = 0.5, training: Any = False, inplace: Any = False
) -> Any:
    """Infer dropout that keeps mean and variance; in-place calls are left to torch."""
    if not 0 <= p <= 1 or inplace:
        return NotImplemented
    if p == 0 or not training or not prod(input.shape):
        return Same(0)
    if input.dtype not in FLOATING or p == 1:
        return NotImplemented
    if input.stride != contiguous(input.shape):
        return NotImplemented
    node = "AddBackward0" if input.device == "cpu" else None
    return Made(input.shape, input.dtype, None, node)


rule("torch.nn.functional.alpha_dropout", random=True)(_alpha)


@rule("torch.dropout", random=True)
def dropout(input: Any, p: float, train: bool) -> Any:
    """Infer `torch.nn.functional.dropout`, without its Python check of `p`."""
    return _dropped(input, p, train, False, False) if 0 <= p <= 1 else NotImplemented


@rule("torch.feature_dropout", random=True)
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Infer dropout of whole channels."""
    return _dropped(input, p, train, False, True) if 0 <= p <= 1 else NotImplemented
