"""One tensor of a spec: what to make, without making it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shapewright.trace.fact import ITEMSIZE, SHORT

DTYPES = (
    {name: name for name in ITEMSIZE if not name.startswith("q")}
    | {short: name for name, short in SHORT.items()}
    | {
        "half": "float16", "float": "float32", "double": "float64",
        "byte": "uint8", "char": "int8", "short": "int16", "int": "int32",
        "long": "int64", "cfloat": "complex64", "cdouble": "complex128",
    }
)  # fmt: skip
"""Every name by which a spec may call a dtype, to torch's name without `torch.`."""

DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "xla", "mtia", "meta")
"""Kinds of device that a tensor of a spec may claim to be on."""


@dataclass(frozen=True, slots=True)
class Range:
    """Random integers from `low` up to, not including, `high`."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor to be fed: ``f32[B=8, 3]`` is ``TensorSpec((8, 3), "float32")``.

    `letters` has for each dim the letter or formula that it was written with
    ("B", "2*T"), or None for a number. `name` is its place among the inputs: a
    keyword, or the path of positions and keys ("0", "0.image"). `fill` says its
    values: None (unknown), "zeros", "ones", "arange", a `Range`, a number, or nested
    tuples of numbers.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    device: str = "cpu"
    name: str = ""
    letters: tuple[str | None, ...] = ()
    fill: Any = None
    requires_grad: bool = False

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{SHORT.get(self.dtype, self.dtype)}[{sizes}]"
