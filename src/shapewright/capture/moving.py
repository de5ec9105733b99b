"""Moves: devices are claimed, so `to`, `cuda` and `cpu` only change the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture import nests
from shapewright.capture.devices import device_asked
from shapewright.capture.identity import BLANK, VALUED, Info, Storage, intern_meta
from shapewright.capture.memo import NEW, SAME, Answer
from shapewright.capture.names import plain_name
from shapewright.capture.viewing import slow, view

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def move(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """`to`, `cuda`, `cpu`: devices are claimed, so a move only changes the claim."""
    name = plain_name(func)
    target, kwargs = args[0], dict(kwargs or {})
    info = engine.info(target)
    device, cast = (
        _asked(engine, list(args[1:]), kwargs)
        if name == "to"
        else _asked_by_name(engine, name, info, list(args[1:]), kwargs)
    )
    if info.meta.layout != "strided":
        return slow(engine, func, (target,), cast) if cast and name == "to" else target
    if device is None or device == info.meta.device:
        if not cast:
            return _same(engine, func, target, info, args[1:])
        return view(engine, Tensor.to, (target,), cast)
    return moved(engine, func, target, info, cast, device, args[1:])


def _asked_by_name(
    engine: Engine, name: str, info: Info, rest: list[Any], kwargs: Kwargs
) -> tuple[str, Kwargs]:
    """Device and cast of `x.cuda(1)`, `x.cpu()`, `x.pin_memory()`."""
    cast = {k: v for k, v in kwargs.items() if k == "memory_format"}
    if name == "pin_memory":
        return info.meta.device, cast
    asked = kwargs.get("device", rest[0] if rest else None)
    return device_asked(engine, name if asked is None else asked), cast


def _same(engine: Engine, func: Any, target: Tensor, info: Info, rest: Args) -> Tensor:
    plain = nests.plain(rest, lambda t: engine.info(t).meta)
    arguments: Any = ((info.meta, *plain), {})
    answer = Answer(func, arguments, SAME, (info.meta,), (info.grad_fn,))
    engine.record(answer, (info,), (info,))
    return target


def _asked(
    engine: Engine, rest: list[Any], kwargs: Kwargs
) -> tuple[str | None, Kwargs]:
    """Device and cast that `to` is asked for, in any of its three forms."""
    found = kwargs.pop("device", None)
    other = kwargs.pop("other", kwargs.pop("tensor", None))
    kwargs.pop("non_blocking", None)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and not isinstance(rest[0], torch.dtype | bool):
        found = rest.pop(0)
    if rest and isinstance(rest[0], torch.dtype):
        kwargs["dtype"] = rest.pop(0)
    elif rest and rest[0] is None:
        rest.pop(0)
    if len(rest) > 1:  # non_blocking, copy
        kwargs["copy"] = rest[1]
    if other is not None:
        kwargs["dtype"] = other.dtype
        found = engine.info(other).meta.device
    cast = {k: v for k, v in kwargs.items() if v is not None and v is not False}
    return (device_asked(engine, found) if found is not None else None), cast


def moved(
    engine: Engine,
    func: Any,
    target: Tensor,
    info: Info,
    cast: Kwargs,
    device: str,
    rest: Args,
) -> Tensor:
    """A copy that claims another device."""
    known = info.storage.known
    physical = engine.value_of(target) if known else engine.blank_of(target)
    grad = torch.is_grad_enabled() and info.meta.requires_grad
    if engine.graph and grad:
        out = physical.to(**{**cast, "copy": True})
        name = out.grad_fn.name() if out.grad_fn is not None else None
    else:
        with torch.no_grad():
            out = physical.to(**{**cast, "copy": True})
        name = "ToCopyBackward0" if grad else None
    storage = Storage(device, known=known, assumed=info.storage.assumed)
    meta = intern_meta(engine.memo.metas, out, device, grad)
    kind = VALUED if known else BLANK
    new = Info(meta, storage, kind, name)
    engine.tell(out, new)
    plain = nests.plain((rest, cast), lambda t: engine.info(t).meta)
    answer = Answer(func, ((info.meta, *plain[0]), plain[1]), NEW, (meta,), (name,))
    engine.record(answer, (info,), (new,))
    return out
