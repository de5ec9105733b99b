"""One tensor's metadata at one moment of the run."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

ITEMSIZE = {
    "bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4,
    "int32": 4, "uint64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4,
    "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "quint8": 1, "qint8": 1, "qint32": 4,
}  # fmt: skip
"""Bytes of one element, by dtype name."""

SHORT = {
    "bool": "bool", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16",
    "uint32": "u32", "int32": "i32", "uint64": "u64", "int64": "i64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex32": "c32", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
"""The short dtype names that specs and tables use."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of one tensor: a shape, never data.

    Example: ``conv1``'s output in LeNet at batch 1024 is
    ``Fact((1024, 6, 28, 28), "float32", (4704, 784, 28, 1))``.

    `stride` is None where the layout has none (sparse, nested). `tensor` and
    `storage` are numbers given at first sight in this run; two facts with the same
    `storage` share memory. `unknown` says in words what could not be known.
    """

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] | None
    device: str = "cpu"
    storage_offset: int = 0
    layout: str = "strided"
    requires_grad: bool = False
    is_leaf: bool = True
    grad_fn: str | None = None
    grad_shape: tuple[int, ...] | None = None
    version: int = 0
    tensor: int = 0
    storage: int = 0
    unknown: str | None = None

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of its elements, as if contiguous."""
        return self.numel * ITEMSIZE.get(self.dtype, 1)

    @property
    def short_dtype(self) -> str:
        """`f32` for `float32`, and so on."""
        return SHORT.get(self.dtype, self.dtype)

    def __str__(self) -> str:
        return f"{self.short_dtype}[{', '.join(map(str, self.shape))}]"
