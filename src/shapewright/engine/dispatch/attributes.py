"""Plans for setting attributes of tensors and for copying tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import Parameter

from shapewright.engine.identity import (
    BLANK,
    THEIRS,
    VALUED,
    Info,
    Storage,
    intern_meta,
)
from shapewright.engine.memo import SAME, Answer
from shapewright.engine.private import UninitializedTensor, is_in_transform

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


_copying: list[bool] = []
"""One entry for each block in which copies are Shapewright's own, not the program's."""


@contextmanager
def copy_results() -> Iterator[None]:
    """Copy results too in the block, without their graph, as a file keeps them."""
    _copying.append(True)
    try:
        yield
    finally:
        _copying.pop()


def answer_deepcopy(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs | None
) -> Any:
    """Answer `copy.deepcopy` of a tensor with a new tensor that has the same claims."""
    target, memo = args
    if id(target) in memo:
        return memo[id(target)]
    info = engine.info(target)
    if info.meta.layout != "strided":
        return engine.run(func, args, kwargs or {})
    is_result = info.grad_fn is not None and target.requires_grad
    if is_result and not _copying:
        with torch.enable_grad():  # a result, which torch does not copy
            engine.run(func, (torch.ones((), requires_grad=True) * 1, {}), {})
    known = info.storage.known
    with torch.no_grad():
        source = engine.value_of(target) if known else engine.blank_of(target)
        out = source.detach().clone(memory_format=torch.preserve_format)
    storage = Storage(info.meta.device, known=known, assumed=info.storage.assumed)
    rg = target.requires_grad
    if isinstance(target, Parameter):
        out = type(target)(out, rg) if type(target) is Parameter else out
    elif rg:
        out.requires_grad_()
    meta = intern_meta(engine.memo.metas, out, info.meta.device, rg)
    new = Info(meta, storage, VALUED if known else BLANK)
    if rg and not known and not engine.graph:
        new.twin = out.detach()
    memo[id(target)] = engine.tell(out, new)
    return out


def set_attribute(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `x.data = y` or `x.requires_grad = True`; a user's tensor is unchanged."""
    target, value = args
    name = func.__self__.__name__
    if isinstance(target, UninitializedTensor):
        engine.theirs.pop(id(target), None)
        engine.run(func, (target, _get_physical(engine, value)), {})
        if name == "data" and isinstance(value, Tensor):
            _materialize_parameter(engine, target, value)
        return None
    info = engine.info(target)
    if name == "requires_grad":
        return _set_requires_grad(engine, func, target, info, bool(value))
    if info.kind != THEIRS and (name != "data" or not isinstance(value, Tensor)):
        physical = _get_physical(engine, value)
        if physical is not value:  # the stand-in has the claims of what it stands for
            device = engine.info(value).meta.device
            claim = intern_meta(engine.memo.metas, physical, device, False)
            engine.tell(physical, Info(claim, Storage(device), BLANK))
        if name == "grad" and info.kind == VALUED and engine.graph:
            target = engine.blank_of(target)  # whose gradient backward passes make
        return engine.run(func, (target, physical), {})
    if name != "data" or not isinstance(value, Tensor):
        if name == "grad":
            engine.grads[id(target)] = value
            if info.twin is not None and info.twin.grad is not None:
                info.twin.grad = None  # the next backward pass begins anew
        return None
    other = engine.info(value)
    rg = info.meta.requires_grad
    if info.kind == BLANK and other.meta.layout == "strided":
        engine.run(func, (target, engine.blank_of(value)), {})
    source = engine.blank_of(value)
    meta = intern_meta(engine.memo.metas, source, other.meta.device, rg)
    new = Info(meta, other.storage, info.kind, info.grad_fn, info.number)
    new.twin = source if info.kind != BLANK else (target.detach() if rg else None)
    if engine.graph and info.kind != BLANK and info.twin is not None:
        gradient = info.twin.grad  # which stays where it was
        if gradient is not None and gradient.shape == source.shape:
            new.twin = source.detach().requires_grad_(rg)
            new.twin.grad = gradient
    if info.kind == BLANK and not engine.holding:
        info.twin = None  # the record of the run would hold the data that was replaced
    engine.retell(target, new)
    return None


def _materialize_parameter(engine: Engine, target: Any, value: Tensor) -> None:
    """Materialize a lazy parameter, which then shares the storage assigned to it."""
    info = engine.info(value)
    source = engine.blank_of(value)
    rg = target.requires_grad
    meta = intern_meta(engine.memo.metas, source, info.meta.device, rg)
    new = Info(meta, info.storage, BLANK)
    new.twin = source if rg and not engine.graph else None
    engine.tell(target, new)


def _get_physical(engine: Engine, value: Any) -> Any:
    return engine.blank_of(value) if isinstance(value, Tensor) else value


def require_grad(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `x.requires_grad_()`, which sets the attribute and returns x."""
    target = args[0]
    value = args[1] if len(args) > 1 else (kwargs or {}).get("requires_grad", True)
    if is_in_transform():
        return engine.run(func, args, kwargs or {})
    info = engine.info(target)
    if value and info.meta.requires_grad:
        return target  # unlike the attribute, the method takes a non-leaf, as it is
    setter = Tensor.requires_grad.__set__  # type: ignore[attr-defined]
    _set_requires_grad(engine, setter, target, info, bool(value))
    return target


def detach_in_place(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs | None
) -> Any:
    """Answer `x.detach_()`, which removes x from the graph."""
    target = args[0]
    info = engine.info(target)
    if is_in_transform() or info.meta.layout != "strided":
        return engine.run(func, args, kwargs or {})
    source = engine.blank_of(target)
    engine.run(func, (source,), {})
    if info.kind == VALUED:
        engine.run(func, (target,), {})
    meta = intern_meta(engine.memo.metas, source, info.meta.device, False)
    new = Info(meta, info.storage, info.kind, None, info.number)
    new.twin = info.twin
    engine.retell(target, new)
    engine.record(Answer(func, ((info.meta,), {}), SAME, (meta,)), (info,), (new,))
    return target


def _set_requires_grad(
    engine: Engine, func: Any, target: Tensor, info: Info, value: bool
) -> None:
    """Record `requires_grad`, and set it on the tensor itself if the run created it."""
    if info.kind != THEIRS:
        engine.run(func, (target, value), {})
    old = info.meta
    if old.layout != "strided" or old.requires_grad == value:
        return
    if engine.note_flag is not None:
        engine.note_flag(target, value)
    source = engine.blank_of(target)
    meta = intern_meta(engine.memo.metas, source, old.device, value)
    new = Info(meta, info.storage, info.kind, info.grad_fn, info.number)
    new.twin = info.twin
    if info.kind == BLANK and value and not engine.graph:
        new.twin = info.twin if info.twin is not None else target.detach()
    if info.kind != BLANK and engine.graph:
        new.twin = None  # made again, as a leaf
    engine.retell(target, new)
