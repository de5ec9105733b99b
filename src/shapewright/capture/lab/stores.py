"""One tensor with its storage, as it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import torch

from shapewright.capture.identity import DTYPES
from shapewright.capture.lab.drawing import RUNNABLE, side, typed_tensor
from shapewright.capture.lab.explaining import blank, shape_only, unreadable
from shapewright.rules.maps.stored import Stored

FIRST = 24
"""Cells of a storage that are shown."""
MOST = 1 << 18
"""Elements up to which a tensor is copied, to show a part of its values."""


def stored(tensor: torch.Tensor, name: str = "tensor") -> Stored:
    """What is known of a tensor and of the storage that it looks at."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"a tensor is drawn, not {type(tensor).__name__}")
    said = unreadable(tensor)
    if said:
        return Stored(shape_only(name, tensor), reason=said, notes=notes(tensor))
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        said = blank(tensor)
        size = tensor.element_size()
        storage = tensor.untyped_storage()
        count = storage.nbytes() // size
        cells: tuple[object, ...] = ()
        if not said:
            first = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            first.set_(storage, 0, (min(FIRST, count),), (1,))
            cells = tuple(first.tolist())
        if not said and tensor.numel() > MOST:
            said = f"{tensor.numel():,} elements are too many"
        if said:
            shown = shape_only(name, tensor)
        else:
            shown = side(name, tensor, shown=tensor.detach().clone())
    base = tensor._base
    shape = None if base is None else tuple(base.shape)
    version = None if tensor.is_inference() else int(tensor._version)
    return Stored(shown, count, cells, size, shape, version, said, notes(tensor))


def typed(
    shape: tuple[int, ...],
    dtype: str,
    letters: tuple[str | None, ...] = (),
    chosen: Mapping[str, int] = MappingProxyType({}),
) -> Stored:
    """A tensor that was only typed: made up, where it is not too large."""
    made = made_up(shape, dtype)
    lettered = replace(made.side, letters=letters if any(letters) else ())
    return replace(made, side=lettered, notes=(*made.notes, *said_of(chosen)))


def said_of(chosen: Mapping[str, int]) -> list[str]:
    """Which sizes were chosen, in a sentence."""
    sizes = ", ".join(f"{name} = {size}" for name, size in chosen.items())
    return [f"chosen, because the call does not say them: {sizes}"] if sizes else []


def made_up(shape: tuple[int, ...], dtype: str) -> Stored:
    """The same without letters."""
    count = 1
    for size in shape:
        count *= size
    if count > RUNNABLE:
        empty = stored(torch.empty(shape, dtype=DTYPES[dtype], device="meta"))
        said = f"{count:,} elements are too many"
        return replace(empty, base=None, version=None, reason=said, notes=leaf(dtype))
    made = stored(typed_tensor(shape, dtype, 1, 10))
    return replace(made, base=None, version=None, notes=leaf(dtype))


def leaf(dtype: str) -> tuple[str, ...]:
    """What is true of a new tensor of a dtype: where its gradient would be."""
    kind = DTYPES[dtype]
    if not (kind.is_floating_point or kind.is_complex):
        return (f"a leaf; {dtype} cannot require a gradient",)
    return ("a leaf: with requires_grad=True backward fills its .grad",)


def notes(tensor: torch.Tensor) -> tuple[str, ...]:
    """What else a person should know of it."""
    found = []
    if tensor.device.type != "cpu":
        found.append(f"on {tensor.device}")
    found += gradient(tensor)
    if tensor.is_conj():
        found.append("conjugated when it is read: the storage holds the conjugates")
    if tensor.is_neg():
        found.append("negated when it is read: the storage holds the negatives")
    return tuple(found)


def gradient(tensor: torch.Tensor) -> list[str]:
    """Its place in autograd: whether it is a leaf, and where its gradient will be."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        name = str(tensor.dtype).removeprefix("torch.")
        return [f"a leaf; {name} cannot require a gradient"]
    if not tensor.requires_grad:
        return ["a leaf; requires_grad is False: backward leaves .grad None"]
    if tensor.is_leaf:
        return [f"requires grad, a leaf: backward fills .grad, {holds(tensor)}"]
    made = type(tensor.grad_fn).__name__
    if not tensor.retains_grad:
        kept = ".grad stays None unless retain_grad() is called"
    else:
        kept = f"retain_grad() was called: backward fills .grad, {holds(tensor)}"
    return [f"requires grad, made by {made}: not a leaf, {kept}"]


def holds(tensor: torch.Tensor) -> str:
    """What its `.grad` is now."""
    grad = tensor.grad
    return "now None" if grad is None else f"now {tuple(grad.shape)}"
