"""The identity of a tensor during a run: its metadata, number and storage.

`id()` and addresses repeat within a run, so tensors are numbered when first seen. The
`Info` of a tensor is stored on the tensor itself (`tensor._sw`) if the run created it,
and in a table if it belongs to the user.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import torch

META = torch.device("meta")

FROM_FILE = "_read_from_file"
"""The attribute of tensors read from a file that holds their claimed device.

Their integer values are kept.
"""

numbers = count(1)
"""Tensor and storage numbers: never reused within a process."""

DTYPE_NAMES: dict[torch.dtype, str] = {
    value: str(value).removeprefix("torch.")
    for value in vars(torch).values()
    if isinstance(value, torch.dtype)
}
DTYPES = {name: dtype for dtype, name in DTYPE_NAMES.items()}

# The physical kinds of tensors.
BLANK = 0  # a meta tensor: no data
VALUED = 1  # a small CPU tensor created by the run: values known
THEIRS = 2  # a tensor from before the run: never touched, replaced by a twin


class Meta:
    """Interned metadata: equal metadata is the same object, so a memo key is cheap."""

    __slots__ = (
        "device",
        "dtype",
        "layout",
        "offset",
        "requires_grad",
        "shape",
        "stride",
        "torch_dtype",
    )

    def __init__(
        self,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        dtype: torch.dtype,
        offset: int,
        device: str,
        requires_grad: bool,
        layout: str,
    ) -> None:
        self.shape = shape
        self.stride = stride
        self.torch_dtype = dtype
        self.dtype = DTYPE_NAMES[dtype]
        self.offset = offset
        self.device = device
        self.requires_grad = requires_grad
        self.layout = layout

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} {self.device}>"


class Storage:
    """A storage with its number, its claimed device, and whether its values are known.

    `assumed` says in words why the values are only representatives, or is None.
    `blank` is the data-free twin and `clone` the copy to compute with, of a storage
    that is not physically data-free; both are created on first use. `viewed` is True
    once it has a view, so that autograd has to follow a write into it.
    """

    __slots__ = ("assumed", "blank", "clone", "device", "known", "number", "viewed")

    def __init__(
        self, device: str, known: bool = False, assumed: str | None = None
    ) -> None:
        self.number = next(numbers)
        self.device = device
        self.known = known
        self.assumed = assumed
        self.blank: torch.UntypedStorage | None = None
        self.clone: torch.UntypedStorage | None = None
        self.viewed = False


class Info:
    """What the run knows about a tensor; replaced, never changed, on new metadata.

    `grad_fn` is the name of its autograd node, None for a leaf.
    """

    __slots__ = ("grad_fn", "kind", "meta", "number", "storage", "twin", "unsure")

    def __init__(
        self,
        meta: Meta,
        storage: Storage,
        kind: int = BLANK,
        grad_fn: str | None = None,
        number: int = 0,
    ) -> None:
        self.meta = meta
        self.storage = storage
        self.kind = kind
        self.grad_fn = grad_fn
        self.number = number or next(numbers)
        self.twin: torch.Tensor | None = None
        self.unsure: str | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Info:
        return self


def is_whole(dtype: torch.dtype) -> bool:
    """Return whether a dtype is an integer or bool dtype."""
    return not (dtype.is_floating_point or dtype.is_complex)


def count_elements(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a tensor of this shape."""
    total = 1
    for size in shape:
        total *= size
    return total


Metas = dict[tuple[Any, ...], Meta]


def intern_meta(
    metas: Metas, tensor: torch.Tensor, device: str, requires_grad: bool
) -> Meta:
    """Return the interned metadata of a strided tensor."""
    offset: Any = tensor.storage_offset()
    key = (tensor.shape, tensor.stride(), tensor.dtype, offset, device, requires_grad)
    meta = metas.get(key)
    if meta is None:
        shape = tuple(tensor.shape)
        meta = Meta(shape, key[1], key[2], offset, device, requires_grad, "strided")
        metas[(shape, *key[1:])] = meta
    return meta


def make_opaque_meta(tensor: torch.Tensor, device: str, layout: str) -> Meta:
    """Return the metadata of a tensor without strides, or with a wrapper's strides."""
    try:
        shape = tuple(tensor.shape)
    except RuntimeError:  # a nested or uninitialised tensor has no single shape
        shape = ()
    stride = tuple(tensor.stride()) if layout == "functorch" else ()
    rg = bool(tensor.requires_grad)
    return Meta(shape, stride, tensor.dtype, 0, device, rg, layout)


def compute_contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return row-major strides; as in torch, a dim of size 0 counts as size 1."""
    stride = [1] * len(shape)
    step = 1
    for position in range(len(shape) - 1, -1, -1):
        stride[position] = step
        step *= shape[position] or 1
    return tuple(stride)
