"""Answers to ordinary calls: memo, then rule, then torch; a run's hottest path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import Parameter

from shapewright.engine import autocast, nests
from shapewright.engine.devices import check_devices
from shapewright.engine.dispatch import (
    answers,
    factories,
    index_bounds,
    memory_overlap,
    torch_answers,
)
from shapewright.engine.dispatch.answers import answer_by_rule, apply_answer
from shapewright.engine.dispatch.results import is_in_place, poison_storage
from shapewright.engine.dispatch.torch_answers import ask_torch
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import BLANK, THEIRS, VALUED, Info, Storage
from shapewright.engine.memo import NEW
from shapewright.engine.private import any_autocast
from shapewright.engine.values import known_values

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def _answer_first_call(
    engine: Engine,
    func: Any,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    key: tuple[Any, ...] | None,
) -> Any:
    """Answer the first call with a memo key by a rule, else by torch."""
    name = get_plain_name(func)
    if check_devices(engine, name, infos):
        key = None  # what is remembered is not checked again, at another line
    if "out" in kwargs or is_in_place(name, kwargs):
        memory_overlap.check_overlap(engine, func, name, args, kwargs, infos)
    if any_autocast():
        error = autocast.find_refusal(name, [info.meta for info in infos])
        if error is not None:
            engine.raise_theirs(error)
    if all(info.meta.layout == "strided" for info in infos):
        answer = answer_by_rule(engine, func, name, args, kwargs, infos)
        if answer is not None:
            if key is not None:
                engine.memo.answers[key] = answer
            return apply_answer(engine, answer, args, kwargs, infos)
    return ask_torch(engine, func, name, args, kwargs, infos, key)


def answer_init(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `nn.init` without drawing; a parameter's values are unknown anyway."""
    kwargs = kwargs or {}
    target = kwargs.get("tensor", args[0] if args else None)
    if isinstance(target, torch.Tensor):
        info = engine.info(target)
        if info.kind == VALUED and info.storage.known:
            return engine.run(func, args, kwargs)
        poison_storage(info.storage)
    return target


PLAIN = frozenset({int, str, type(None), torch.dtype, torch.device, type(...)})
MARKED = frozenset({float, bool, complex, torch.layout, torch.memory_format})
empty_strided = torch.empty_strided
is_grad_enabled = torch.is_grad_enabled
get_default_dtype = torch.get_default_dtype
META_DEVICE = torch.device("meta")


def answer_from_tensor(
    engine: Engine, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """Answer a read of sizes or settings from the tensor itself."""
    if engine.reshaped and args and isinstance(args[0], Tensor):
        info = engine.info(args[0])
        if info.kind == THEIRS and info.meta.layout == "strided":
            args = (engine.blank_of(args[0]), *args[1:])
    try:
        return func(*args, **kwargs) if kwargs else func(*args)
    except BaseException as error:  # of torch; raised again
        engine.raised(error)
        raise


def answer_device(
    engine: Engine, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """Answer `torch.device(0)` by the claimed accelerator: `cuda:0`."""
    if len(args) == 1 and type(args[0]) is int and engine.machine not in (None, "cpu"):
        args = (engine.machine, args[0])
    return answer_from_tensor(engine, func, args, kwargs)


def call_op(
    engine: Engine, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """Answer an ordinary call by the memo, else by a rule, else by torch itself."""
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
            known += nests.append_key(engine, value, key, infos)
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
                known += nests.append_key(engine, value, key, infos)
    if not infos and factories.has_only_numbers(func, args):
        return factories.create_known(
            engine, func, func.__name__, args, kwargs or {}, [], "cpu"
        )
    if known and known == len(infos) and known_values.can_compute(engine, infos):
        done = known_values.compute_known(engine, func, args, kwargs or {}, infos)
        if done is not known_values.TOO_LARGE:
            return done
    if known:
        index_bounds.check_indices(engine, func, args, kwargs)
    if engine.graph:
        return torch_answers.answer_in_graph(
            engine, func, args, kwargs or {}, infos, key
        )
    if any_autocast():
        key.append(autocast.get_autocast_state())
    try:
        answer = engine.memo.answers.get(tuple(key))
    except TypeError:
        return _answer_first_call(engine, func, args, kwargs or {}, infos, None)
    if answer is None:
        return _answer_first_call(engine, func, args, kwargs or {}, infos, tuple(key))
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
    return answers.apply_answer(engine, answer, args, kwargs or {}, infos)
