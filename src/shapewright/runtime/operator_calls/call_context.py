"""What stands beside a drawn call: autograd, dispatch, its device; and copies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from shapewright.engine.identity import DTYPE_NAMES
from shapewright.index_maps.drawn_calls import Autograd, Beside, Drawn
from shapewright.operators.metadata_rules import RULES
from shapewright.runtime.operator_calls import dispatcher
from shapewright.runtime.operator_calls.backward import Fresh, gradients
from shapewright.runtime.operator_calls.dispatcher import way
from shapewright.runtime.operator_calls.drawing import MetaOf, draw_call, tensors_of

Tensor = torch.Tensor
ALIGNED = 64
"""Copied parts of a storage begin at multiples of so many bytes, for every dtype."""

Spans = dict[int, tuple[int, int]]


def spans(tensors: Iterable[Tensor]) -> Spans:
    """The bytes that are reached of each storage, by the storage's identity."""
    found: Spans = {}
    for tensor in tensors:
        if not tensor.numel():
            continue
        size, first = tensor.element_size(), int(tensor.storage_offset())
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        last = int(first + sum((count - 1) * step for count, step in steps))
        low, high = first * size // ALIGNED * ALIGNED, (last + 1) * size
        key = tensor.untyped_storage()._cdata
        before = found.get(key, (low, high))
        found[key] = min(low, before[0]), max(high, before[1])
    return found


@dataclass(slots=True)
class Copies:
    """Makes copies that share storages as the originals do."""

    spans: Spans
    made: dict[int, Tensor] = field(default_factory=dict)

    def of(self, value: Any) -> Any:
        """A nest of arguments with copies in place of tensors."""
        if isinstance(value, Tensor):
            with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
                return self.copy(value)
        if type(value) in (tuple, list):
            return type(value)([self.of(item) for item in value])
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, torch.Generator):
            return value.clone_state()
        return value

    def copy(self, tensor: Tensor) -> Tensor:
        """One tensor's copy."""
        shape, stride, dtype = tensor.shape, tensor.stride(), tensor.dtype
        new = torch.empty(0, dtype=dtype, device=tensor.device)
        if not tensor.numel():
            return new.new_empty(0).as_strided(shape, stride)
        storage = tensor.untyped_storage()
        low, high = self.spans[storage._cdata]
        if storage._cdata not in self.made:
            bytes_ = torch.empty(0, dtype=torch.uint8, device=tensor.device)
            part = bytes_.set_(storage, low, (high - low,), (1,))
            self.made[storage._cdata] = part.clone()
        kept = self.made[storage._cdata].untyped_storage()
        offset = tensor.storage_offset() - low // tensor.element_size()
        new.set_(kept, offset, shape, stride)
        if tensor.is_conj():
            new = new.conj()
        return torch._neg_view(new) if tensor.is_neg() else new


def draw_with(
    func: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    text: str,
) -> Drawn:
    """`draw_call`, and what stands beside its picture.

    The arguments are copies already; the call runs a few times more, on copies of them.
    """
    with torch.inference_mode(False):
        kept = Copies(spans(list(tensors_of((*args, *kwargs.values())))))
        args_kept, kwargs_kept = kept.of(args), kept.of(kwargs)
    drawn = draw_call(func, name, args, kwargs, text)
    if drawn.error or not drawn.outputs:
        return drawn

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = list(tensors_of((*args_kept, *kwargs_kept.values())))
        copies = Copies(spans(given))
        return copies.of(args_kept), copies.of(kwargs_kept)

    with warnings.catch_warnings(action="ignore"), torch.inference_mode(False):
        return replace(drawn, beside=beside(func, name, fresh))


def beside(func: Callable[..., Any], name: str, fresh: Fresh) -> Beside:
    """What there is to say beside a call that torch takes."""
    args, kwargs = fresh()
    given = [t for t in tensors_of((*args, *kwargs.values())) if isinstance(t, Tensor)]
    try:
        found, called = gradients(func, name, fresh)
    except Exception as error:  # a picture does not fail for want of a gradient
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        found, called = Autograd(reason=f"torch: {said}"), None
    try:
        args_new, kwargs_new = fresh()
        with torch.no_grad():
            seen = dispatcher.overloads(lambda: func(*args_new, **kwargs_new))
    except Exception:  # an operator that no dispatch mode takes
        seen = {}
    dispatch = way(called, seen, given)
    default = DTYPE_NAMES[torch.get_default_dtype()]
    counted, at = flops(name, args, kwargs), device(given, kwargs)
    return Beside(found, dispatch, counted, at, default)


def device(given: list[Tensor], kwargs: dict[str, Any]) -> str:
    """The device that the call asks for, else that of its tensors, else of new ones."""
    asked = kwargs.get("device")
    if asked is not None:
        return str(asked)
    return str(given[0].device if given else torch.get_default_device())


def flops(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """What the record of a trace counts for the call."""
    one = RULES.get(name)
    if one is None or one.flops is None:
        return None

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            return MetaOf.of(value)
        if type(value) in (tuple, list):
            return type(value)(plain(item) for item in value)
        return value

    try:
        return one.flops(
            *map(plain, args), **{key: plain(value) for key, value in kwargs.items()}
        )
    except Exception:  # arguments that the formula does not know
        return None
