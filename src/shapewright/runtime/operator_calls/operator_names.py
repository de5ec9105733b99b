"""Operators and layers of torch by the names that a user types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from shapewright.engine import nests
from shapewright.index_maps.costs import METADATA
from shapewright.index_maps.index_map import MAPS
from shapewright.operators import import_families
from shapewright.operators.facts import operators_with
from shapewright.operators.metadata_rules import RULES
from shapewright.runtime.operator_calls.described_calls import is_described

import_families("shapes")  # every name that is known
import_families("index_map")


class Unknown(Exception):
    """Raised for a name that is not a known torch operator."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


FACTORIES = frozenset(f"torch.{name}" for name in operators_with("is_drawn_by_hand"))


def get_known_names() -> set[str]:
    """Return the names of all operators that may be called."""
    asked = {f"torch.Tensor.{name}" for name in (*METADATA, "item", "tolist")}
    return {*MAPS, *RULES, *FACTORIES, *asked} - {"tensor"}


def describe_unknown_name(name: str) -> str:
    """Return the error message for an unknown operator, with a similar name if any."""
    prefix, _, last = name.rpartition(".")
    known = sorted(get_known_names())
    same = [known_name for known_name in known if known_name.rpartition(".")[2] == last]
    if same and not _is_in_torch(name):
        near = min(same, key=len).replace("torch.nn.functional.", "F.")
        return f"no operator `{name}` is known; did you mean `{near}`?"
    if _is_in_torch(name):
        return f"`{name}` is not one of the operators that are drawn"
    beside = [
        known_name.rpartition(".")[2]
        for known_name in known
        if known_name.rpartition(".")[0] == prefix
    ]
    if prefix == "torch.nn":  # a layer
        beside = [attribute for attribute in dir(torch.nn) if attribute[:1].isupper()]
    close = get_close_matches(last, beside, n=1)
    hint = f"; did you mean `{prefix}.{close[0]}`?" if close else ""
    return f"no operator `{name}` is known{hint}"


def _is_in_torch(name: str) -> bool:
    """Return whether torch has an attribute with a dotted name."""
    attribute: Any = torch
    for part in name.split(".")[1:]:
        attribute = getattr(attribute, part, None)
    return attribute is not None


def find_function(name: str, values: bool = False) -> Any:
    """Return the torch function with a dotted name, or raise `Unknown`."""
    if name == "tensor":
        return lambda input: input
    if not values and name not in get_known_names() and not is_described(name):
        raise Unknown(name)
    function: Any = torch
    for part in name.split(".")[1:]:
        function = getattr(function, part, None)
    if values and not isinstance(function, torch.dtype | torch.memory_format):
        raise Unknown(name)
    if isinstance(function, property) or type(function).__name__ == "getset_descriptor":
        return function.__get__  # `x.T`
    return function


READS = operators_with("reads_metadata") | {"__get__"}

SEVERAL = "it is several calls of torch, which are not drawn as one"
TURNS = (
    "with `batch_first` it transposes its inputs first; without it, inputs "
    "(length, batch, ...) are drawn"
)


@dataclass(slots=True)
class _Inner:
    """The operator call that does a layer's work."""

    func: Any = None
    name: str = ""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    reason: str = ""
    """The reason for no call, if the layer makes several."""


@cache
def get_drawn_names() -> dict[Any, str]:
    """Return the name under which each function has an index map, by function."""
    names = sorted(MAPS, key=lambda name: name.startswith("torch.Tensor."))
    names_by_function: dict[Any, str] = {}
    for name in names:
        names_by_function.setdefault(find_function(name), name)
    return names_by_function


class _Looking(TorchFunctionMode):
    """A function mode that records calls of drawable operators, and their results."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[_Inner, Any]] = []
        self.made = 0  # calls that gave a tensor, drawn or not
        self.last: _Inner | None = None  # the call that raised, if one did

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = get_drawn_names().get(func)
        if name is None or getattr(func, "__name__", "") in READS:
            out = func(*args, **(kwargs or {}))
            self.made += isinstance(out, torch.Tensor | tuple)
            return out
        inner = self.last = _Inner(func, name, args, kwargs or {})
        out = func(*args, **(kwargs or {}))
        self.last = None
        self.made += 1
        self.calls.append((inner, out))
        return out


def find_layer_class(name: str) -> type[nn.Module] | None:
    """Return the layer class with a dotted name, or None if torch has no such layer."""
    layer_class = getattr(nn, name.removeprefix("torch.nn."), None)
    known = isinstance(layer_class, type) and issubclass(layer_class, nn.Module)
    return layer_class if known else None


def is_layer(name: str) -> bool:
    """Return whether a dotted name is that of a torch layer."""
    return name.startswith("torch.nn.") and find_layer_class(name) is not None


def build_layer(kind: type[nn.Module], args: Any, kwargs: Any) -> nn.Module:
    """Return a layer in evaluation mode with small weights that are easy to follow."""
    layer = kind(*args, **kwargs).eval()
    # Attention's are around 0, so that its softmax does not fall on one key.
    first, step = (-3, 8) if kind is nn.MultiheadAttention else (1, 1)
    with torch.no_grad():
        for parameter in layer.parameters():
            count = torch.arange(parameter.numel()).reshape(parameter.shape)
            parameter.copy_((count % 7 + first) / step)
    return layer


def find_layer_operator(layer: nn.Module, args: Any, kwargs: Any) -> _Inner:
    """Return the operator call that does a layer's work, or that rejects its input.

    It gets the very tensors that the layer gets, and returns what the layer returns.
    Its `func` is None if there is no such operator: `nn.TransformerEncoderLayer` ends
    with a norm of something else, and `nn.Conv2d(..., padding_mode="circular")` pads
    first.
    """
    looking = _Looking()
    try:
        with torch.no_grad(), looking:
            out = layer(*args, **kwargs)
    except Exception:  # the layer refuses its input
        if looking.last is None:
            raise
        return _with_masks(looking.last, layer, args, kwargs)
    for call, result in reversed(looking.calls):
        inner = _with_masks(call, layer, args, kwargs)
        inputs, used = (
            get_identities((args, kwargs)),
            get_identities((inner.args, inner.kwargs)),
        )
        if inputs <= used and get_identities(out) <= get_identities(result):
            return inner
    if getattr(layer, "batch_first", False) and isinstance(
        layer, nn.MultiheadAttention
    ):
        return _Inner(reason=TURNS)
    return _Inner(reason=SEVERAL if looking.made > 1 else "")


def get_identities(nest: Any) -> set[int]:
    """Return the `id` of each tensor in a nested structure."""
    return {id(tensor) for tensor in nests.collect_tensors(nest)}


def _with_masks(inner: _Inner, layer: nn.Module, args: Any, kwargs: Any) -> _Inner:
    """Return the call with the masks that were passed to the attention layer.

    The layer converts booleans to numbers, which the function does by itself as well.
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
