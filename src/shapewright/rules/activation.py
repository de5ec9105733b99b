"""Activation functions: relu, gelu, silu, elu, leaky_relu, hardtanh and their kin.

A function of `torch.nn.functional` may write its input: with `inplace=True` it answers
`Same`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shapewright.rules.elementwise import (
    likened,
    new,
    no_overlap,
    pointwise,
    unary,
    written,
)
from shapewright.rules.meta import Made, Metadata, Misfit, Same
from shapewright.rules.promotion import FLOATING, KIND
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous
from shapewright.rules.unary import Family, Refusals, answer_of


@dataclass(frozen=True, slots=True)
class Activation:
    """A function that keeps shape and dtype.

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


def _plain(kind: Activation) -> Metadata:
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
    """Whether only known arguments are given, and positive numbers for them.

    What torch says to other values differs by function; it answers then itself.
    """
    if not numbers and not named:
        return True
    if len(numbers) + len(named) > len(arguments) or not named.keys() <= set(arguments):
        return False
    values = (*numbers, *named.values())
    return all(type(value) in (int, float) and value > 0 for value in values)


def _writing(kind: Activation) -> Metadata:
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


def _either(kind: Activation) -> Metadata:
    plain, writing = _plain(kind), _writing(kind)
    last = len(kind.arguments)

    def metadata(input: Any, *rest: Any, inplace: Any = False, **named: Any) -> Any:
        if len(rest) > last:
            *rest, inplace = rest  # type: ignore[assignment]
        if not inplace:
            return plain(input, *rest, **named)
        made = writing(input, *rest, **named)
        return made if made is NotImplemented else Same(0, True, made.grad_fn)

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
    Activation(_RELU, "ReluBackward0", "torch.relu torch.Tensor.relu",
               "torch.relu_ torch.Tensor.relu_", "relu"),
    Activation(Family("hfc", "same", "silu_cpu"), "SiluBackward0", f"{_NN}silu",
               f"{_NN}silu_", "silu"),
    Activation(_float("mish_cpu"), "MishBackward0", f"{_NN}mish", f"{_NN}mish_",
               "mish"),
    Activation(_float("hardswish_cpu"), "HardswishBackward0", f"{_NN}hardswish",
               f"{_NN}hardswish_", "hardswish"),
    Activation(_float("hardsigmoid_cpu"), "HardsigmoidBackward0", f"{_NN}hardsigmoid",
               f"{_NN}hardsigmoid_", "hardsigmoid"),
    Activation(_float("leaky_relu_cpu"), "LeakyReluBackward0", f"{_NN}leaky_relu",
               f"{_NN}leaky_relu_", "leaky_relu", ("negative_slope",),
               "LeakyReluBackward1"),
    Activation(_float("elu_cpu"), "EluBackward0", f"{_NN}elu", f"{_NN}elu_", "elu",
               ("alpha",), "EluBackward1"),
    Activation(_float("elu_cpu"), "EluBackward0", "torch.selu", "torch.selu_", "selu",
               (), "EluBackward1"),
    Activation(_float("elu_cpu"), "CeluBackward0", "torch.celu", "torch.celu_", "celu",
               ("alpha",), "CeluBackward1"),
    Activation(_float("softplus_cpu"), "SoftplusBackward0", f"{_NN}softplus",
               arguments=("beta", "threshold")),
    Activation(_float("softshrink_check"), "SoftshrinkBackward0", f"{_NN}softshrink",
               arguments=("lambd",)),
    Activation(_float("hardshrink_cpu"), "HardshrinkBackward0",
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
    """Clamped to [min_val, max_val]; for integers the bounds matter, torch answers."""
    if input.dtype not in FLOATING or min_val > max_val:
        return NotImplemented
    if not inplace:
        return likened(input, input.dtype, "HardtanhBackward0")
    return Same(0, True, written(input, input.dtype, "HardtanhBackward0").grad_fn)


@rule(f"{_F}relu6", f"{_NN}relu6")
def relu6(input: Any, inplace: bool = False) -> Any:
    """Clamped to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


@rule(f"{_NN}hardtanh_", f"{_NN}relu6_", writes=0)
def hardtanh_in_place(input: Any, min_val: float = 0.0, max_val: float = 6.0) -> Any:
    """As `hardtanh`, into its argument."""
    if input.dtype not in FLOATING or min_val > max_val:
        return NotImplemented
    return written(input, input.dtype, "HardtanhBackward0")


@rule(f"{_NN}log_sigmoid")
def log_sigmoid(input: Any) -> Any:
    """`log(sigmoid(x))`, contiguous on the CPU."""
    shape = input.shape
    if input.dtype not in FLOATING:
        return NotImplemented
    return new(shape, input.dtype, contiguous(shape), "LogSigmoidBackward0")


_GELU = _float("GeluKernelImpl").table()


@rule(f"{_NN}gelu")
def gelu(input: Any, *, approximate: str = "none") -> Any:
    """`approximate` is "none" or "tanh"."""
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
    """Channels (dim 1) times a slope each; the slopes are broadcast along that dim."""
    shape, slopes = input.shape, weight.shape
    channels = shape[1] if len(shape) > 1 else 1
    if input.dtype not in FLOATING or weight.dtype != input.dtype:
        return NotImplemented
    if len(slopes) > 1 or (slopes and slopes[0] not in (1, channels)) or not shape:
        return NotImplemented
    return likened(input, input.dtype, "PreluKernelBackward0")


@rule(f"{_F}glu", f"{_NN}glu")
def glu(input: Any, dim: int = -1) -> Any:
    """Half of a dim gates the other half: (2, 8) gives (2, 4)."""
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
