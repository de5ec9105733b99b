"""What a rule reads and what it answers: tensor metadata without a tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Meta(Protocol):
    """A tensor argument as a rule sees it. dtype is torch's name without `torch.`."""

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
    """A tensor that a rule says comes out. `stride` None means contiguous.

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
    """An argument that comes out itself, where that depends on the other arguments.

    Example: `F.relu(x, inplace=True)` answers `Same(0, True, "ReluBackward0")`, and
    `F.dropout(x, training=False)` answers `Same(0)`: `x` itself, not written.
    `argument` is its position in the call, or its keyword. Where a rule always writes
    (`add_`), `Rule.writes` says so and the answer is a `Made`.
    """

    argument: int | str
    written: bool = False
    grad_fn: str | None = None


class Misfit(Exception):
    """The call does not fit. `str()` is what eager torch says on the CPU.

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
    """What we know of one operator family member.

    `names` are dotted torch names ("torch.relu", "torch.Tensor.relu"). `writes` is the
    position of the argument written in place, or None; an in-place rule answers the
    metadata of the written tensor, unchanged. `flops` takes the same arguments as
    `metadata` and gives multiply-adds times 2, as torch's `flop_counter` does; None
    means that torch has no formula. `random` marks results that depend on a generator.
    """

    names: tuple[str, ...]
    metadata: Metadata
    flops: Callable[..., int] | None = None
    writes: int | None = None
    random: bool = False


@dataclass(slots=True)
class Setting:
    """The settings of torch that metadata can depend on. Capture fills it per call."""

    default_dtype: str = "float32"
    einsum_swaps: bool = True
    """Whether einsum orders its operands so that the result needs no permutation."""


setting = Setting()
"""Read by rules of factories; capture keeps it in step with torch."""
