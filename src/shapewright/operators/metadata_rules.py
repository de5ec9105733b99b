"""Metadata rules: what a rule reads and returns, the registry of rules, dims as
arguments, and torch's wording of errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Meta(Protocol):
    """A tensor argument of a rule; `dtype` is torch's name without `torch.`."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def stride(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def requires_grad(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Made:
    """An output tensor that a rule infers. A `stride` of None means contiguous.

    `grad_fn` is the name that autograd gives the node when an input requires grad
    ("ReluBackward0"); None means that the rule does not know it, "" that the output
    is not differentiable.
    """

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] | None = None
    grad_fn: str | None = None


@dataclass(frozen=True, slots=True)
class Same:
    """An argument that is returned itself, where that depends on the other arguments.

    Example: `F.relu(x, inplace=True)` answers `Same(0, True, "ReluBackward0")`, and
    `F.dropout(x, training=False)` answers `Same(0)`: `x` itself, not written.
    `argument` is its position in the call, or its keyword. Where a rule always writes
    (`add_`), `Rule.writes` says so and the answer is a `Made`.
    """

    argument: int | str
    written: bool = False
    grad_fn: str | None = None


class Misfit(Exception):
    """A call that torch would reject; `str()` is the message of eager torch on the CPU.

    `error` is the name of the exception class that torch raises.
    """

    def __init__(self, message: str, error: str = "RuntimeError") -> None:
        super().__init__(message)
        self.error = error


Metadata = Callable[..., Any]
"""Mirrors the torch function's signature, with `Meta` where the call has a tensor.

Tensors come as `Meta` (strided ones only); dtypes, devices, layouts and memory formats
as names ("float32", "cuda:0", "channels_last"); all else as it was. Returns one `Made`
(or `Same`), a tuple or list of them, or `NotImplemented` where the rule does not cover
the call (torch itself answers then). Raises `Misfit` where torch would raise. A call
that its signature does not take is not covered either: Python's TypeError says so. For
a tensor that is written, a `grad_fn` of "" means that it keeps the one it had.
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """The registered metadata rule of one operator.

    `names` are dotted torch names ("torch.relu", "torch.Tensor.relu"). `writes` is the
    position of the argument written in place, or None; an in-place rule answers the
    metadata of the written tensor, unchanged. `flops` takes the same arguments as
    `metadata` and gives multiply-adds times 2, as torch's `flop_counter` does; None
    means that torch has no formula. `random` marks results that depend on a generator.
    """

    names: tuple[str, ...]
    metadata: Metadata
    flops: Callable[..., int | None] | None = None
    writes: int | None = None
    random: bool = False


@dataclass(slots=True)
class _Setting:
    """The settings of torch on which metadata can depend."""

    default_dtype: str = "float32"
    einsum_swaps: bool = True
    """Whether einsum orders its operands so that the result needs no permutation."""


setting = _Setting()
"""The settings that rules read; the engine keeps them equal to torch's."""


RULES: dict[str, Rule] = {}
"""Every registered rule, by each of its names."""


def rule(
    *names: str,
    flops: Callable[..., int | None] | None = None,
    writes: int | None = None,
    random: bool = False,
) -> Callable[[Metadata], Metadata]:
    """Register the decorated function as the metadata rule of `names`.

    Example::

        @rule("torch.relu", "torch.Tensor.relu", "torch.nn.functional.relu")
        def relu(input, inplace=False):
            return elementwise(input, grad_fn="ReluBackward0")
    """

    def register(metadata: Metadata) -> Metadata:
        new_rule = Rule(names, metadata, flops, writes, random)
        for name in names:
            assert name not in RULES, f"two rules for {name}"
            RULES[name] = new_rule
        return metadata

    return register


Shape = tuple[int, ...]


def axis(dim: int, ndim: int) -> int:
    """Return a dim counted from the front: `axis(-1, 3) == 2`; a scalar has dim 0."""
    least = max(ndim, 1)
    if not -least <= dim < least:
        raise Misfit(
            f"Dimension out of range (expected to be in range of [{-least}, "
            f"{least - 1}], but got {dim})",
            "IndexError",
        )
    return dim % least


def axes(dim: Any, ndim: int) -> frozenset[int]:
    """Return the dims that a reduction removes; None or an empty list means all."""
    if type(dim) is int:
        return frozenset((axis(dim, ndim),))
    if dim is None or not len(dim):
        return frozenset(range(ndim))
    removed: set[int] = set()
    for entry in dim:
        place = axis(entry, ndim)
        if place in removed:
            raise Misfit(f"dim {place} appears multiple times in the list of dims")
        removed.add(place)
    return frozenset(removed)


def reduced(shape: Shape, gone: frozenset[int], keepdim: bool) -> Shape:
    """Return the shape without the dims `gone`, or with size 1 in their place.

    Example: `reduced((8, 16, 32), frozenset({1}), False) == (8, 32)`.
    """
    if keepdim:
        return tuple([1 if dim in gone else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in gone])


SCALAR_TYPE = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
    "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32",
    "uint64": "UInt64",
}  # fmt: skip
"""`Float` for `float32`: how `c10::ScalarType` prints."""

C_TYPE = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char",
    "int16": "short int", "int32": "int", "int64": "long int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip
"""`float` for `float32`: how `caffe2::TypeMeta` prints."""


def unsupported(kernel: str, dtype: str) -> Misfit:
    """Return the error of a kernel that does not implement a dtype."""
    return Misfit(
        f"\"{kernel}\" not implemented for '{SCALAR_TYPE.get(dtype, dtype)}'",
        "NotImplementedError",
    )


def wrap_dim(dim: int, ndim: int) -> int:
    """Return a dim counted from the front: `wrap_dim(-1, 3) == 2`; a scalar has one."""
    span = ndim or 1
    if -span <= dim < span:
        return dim + span if dim < 0 else dim
    raise Misfit(
        f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], "
        f"but got {dim})",
        "IndexError",
    )


def listed(sizes: tuple[int, ...]) -> str:
    """Format sizes as torch prints them: `[2, 3]`."""
    return f"[{', '.join(map(str, sizes))}]"
