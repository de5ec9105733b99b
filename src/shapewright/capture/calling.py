"""An ordinary call: the hottest path of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import Parameter

from shapewright.capture import (
    answering,
    applying,
    asking,
    autocast,
    computing,
    making,
    nests,
    ranging,
)
from shapewright.capture.identity import BLANK, THEIRS, Info, Storage
from shapewright.capture.memo import NEW
from shapewright.capture.private import any_autocast

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Tensor = torch.Tensor
PLAIN = frozenset({int, str, type(None), torch.dtype, torch.device, type(...)})
MARKED = frozenset({float, bool, complex, torch.layout, torch.memory_format})
empty_strided = torch.empty_strided
is_grad_enabled = torch.is_grad_enabled
get_default_dtype = torch.get_default_dtype
META_DEVICE = torch.device("meta")


def passed(
    engine: Engine, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """A read of sizes or settings: answered by the tensor as it is."""
    if engine.reshaped and args and isinstance(args[0], Tensor):
        info = engine.info(args[0])
        if info.kind == THEIRS and info.meta.layout == "strided":
            args = (engine.blank_of(args[0]), *args[1:])
    try:
        return func(*args, **kwargs) if kwargs else func(*args)
    except BaseException as error:
        engine.error = error
        raise


def call_op(
    engine: Engine, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """An ordinary op: the memo, then a rule, then torch itself."""
    key: list[Any] = [func, is_grad_enabled(), get_default_dtype()]
    infos: list[Info] = []
    known = 0
    for value in args:
        kind = type(value)
        if kind is Tensor or kind is Parameter:
            info = getattr(value, "_sw", None)
            if info is None:
                info = engine.info(value)
            infos.append(info)
            key.append(info.meta)
            if info.storage.known:
                known += 1
        elif kind in PLAIN:
            key.append(value)
        elif kind in MARKED:
            key.append((kind, value))
        else:
            known += nests.key_of(engine, value, key, infos)
    if kwargs:
        for name, value in kwargs.items():
            key.append(name)
            kind = type(value)
            if kind is Tensor or kind is Parameter:
                info = getattr(value, "_sw", None)
                if info is None:
                    info = engine.info(value)
                infos.append(info)
                key.append(info.meta)
                if info.storage.known:
                    known += 1
            elif kind in PLAIN:
                key.append(value)
            elif kind in MARKED:
                key.append((kind, value))
            else:
                known += nests.key_of(engine, value, key, infos)
    if not infos and making.of_numbers(func, args):
        return making.known(engine, func, func.__name__, args, kwargs or {}, [], "cpu")
    if known and known == len(infos) and computing.allowed(engine, infos):
        done = computing.compute(engine, func, args, kwargs or {}, infos)
        if done is not computing.TOO_LARGE:
            return done
    if known:
        ranging.check(engine, func, args, kwargs)
    if engine.graph:
        return asking.direct(engine, func, args, kwargs or {}, infos, key)
    if any_autocast():
        key.append(autocast.state())
    try:
        answer = engine.memo.answers.get(tuple(key))
    except TypeError:
        return answering.miss(engine, func, args, kwargs or {}, infos, None)
    if answer is None:
        return answering.miss(engine, func, args, kwargs or {}, infos, tuple(key))
    if answer.kind == NEW and answer.template is None and not answer.hidden:
        meta = answer.metas[0]
        out = empty_strided(
            meta.shape, meta.stride, dtype=meta.torch_dtype, device=META_DEVICE
        )
        info = Info(meta, Storage(meta.device), BLANK, answer.grad_fns[0])
        out._sw = info  # type: ignore[attr-defined]
        out._sw_life = engine.life  # type: ignore[attr-defined]
        if engine.recording:
            engine.events.append(
                (answer, infos, (info,), engine.sites.here(), engine.call)
            )
        return out
    return applying.apply(engine, answer, args, kwargs or {}, infos)
