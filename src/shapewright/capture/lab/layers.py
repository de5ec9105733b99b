"""A layer that was only typed: built, and the call of torch inside it found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from shapewright.capture import nests
from shapewright.capture.lab.operators import function_of
from shapewright.rules.maps.all import MAPS

READS = frozenset("__get__ dim size numel is_floating_point is_complex".split())

SEVERAL = "it is several calls of torch, which are not drawn as one"
TURNS = (
    "with `batch_first` it turns its inputs around first; without, and with the length "
    "before the batch, it is drawn"
)


@dataclass(slots=True)
class Inner:
    """The call of an operator that does a layer's work."""

    func: Any = None
    name: str = ""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    reason: str = ""
    """Why there is none, where the layer makes several calls."""


@cache
def drawn_names() -> dict[Any, str]:
    """The name under which a function has an index map, by the function."""
    names = sorted(MAPS, key=lambda name: name.startswith("torch.Tensor."))
    found: dict[Any, str] = {}
    for name in names:
        found.setdefault(function_of(name), name)
    return found


class _Looking(TorchFunctionMode):
    """Keeps the calls of operators that can be drawn, with what they return."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Inner, Any]] = []
        self.made = 0  # calls that gave a tensor, drawn or not
        self.last: Inner | None = None  # the call that raised, if one did

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = drawn_names().get(func)
        if name is None or getattr(func, "__name__", "") in READS:
            out = func(*args, **(kwargs or {}))
            self.made += isinstance(out, torch.Tensor | tuple)
            return out
        inner = self.last = Inner(func, name, args, kwargs or {})
        out = func(*args, **(kwargs or {}))
        self.last = None
        self.made += 1
        self.calls.append((inner, out))
        return out


def layer_class(name: str) -> type[nn.Module] | None:
    """The class of a dotted name; None for what is no layer of torch."""
    found = getattr(nn, name.removeprefix("torch.nn."), None)
    known = isinstance(found, type) and issubclass(found, nn.Module)
    return found if known else None


def is_layer(name: str) -> bool:
    """Whether a dotted name is that of a layer of torch."""
    return name.startswith("torch.nn.") and layer_class(name) is not None


def built(kind: type[nn.Module], args: Any, kwargs: Any) -> nn.Module:
    """A layer in evaluation, its weights small whole numbers that can be followed."""
    layer = kind(*args, **kwargs).eval()
    # Attention's are around 0, so that its softmax does not fall on one key.
    first, step = (-3, 8) if kind is nn.MultiheadAttention else (1, 1)
    with torch.no_grad():
        for parameter in layer.parameters():
            count = torch.arange(parameter.numel()).reshape(parameter.shape)
            parameter.copy_((count % 7 + first) / step)
    return layer


def inside(layer: nn.Module, args: Any, kwargs: Any) -> Inner:
    """The operator that does a layer's work, or which refuses what it gets.

    It gets the very tensors that the layer gets, and gives what the layer gives. Its
    `func` is None where there is none: `nn.TransformerEncoderLayer` ends with a norm of
    something else, and `nn.Conv2d(..., padding_mode="circular")` pads first.
    """
    looking = _Looking()
    try:
        with torch.no_grad(), looking:
            out = layer(*args, **kwargs)
    except Exception:
        if looking.last is None:
            raise
        return with_masks(looking.last, layer, args, kwargs)
    for call, made in reversed(looking.calls):
        inner = with_masks(call, layer, args, kwargs)
        given, used = identities((args, kwargs)), identities((inner.args, inner.kwargs))
        if given <= used and identities(out) <= identities(made):
            return inner
    if getattr(layer, "batch_first", False) and isinstance(
        layer, nn.MultiheadAttention
    ):
        return Inner(reason=TURNS)
    return Inner(reason=SEVERAL if looking.made > 1 else "")


def identities(nest: Any) -> set[int]:
    """Which tensors stand in a nest."""
    return {id(tensor) for tensor in nests.tensors(nest)}


def with_masks(inner: Inner, layer: nn.Module, args: Any, kwargs: Any) -> Inner:
    """The call with the masks that the layer of attention got.

    The layer makes numbers of truths, which the function does itself, too.
    """
    if not isinstance(layer, nn.MultiheadAttention) or inner.kwargs is None:
        return inner
    named = signature(layer.forward).bind(*args, **kwargs).arguments
    masks = {
        name: named[name]
        for name in ("key_padding_mask", "attn_mask")
        if named.get(name) is not None and inner.kwargs.get(name) is not None
    }
    return replace(inner, kwargs={**inner.kwargs, **masks})
