"""Ordinary calls at the memo's misses: a rule, else torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture import autocast, overlapping
from shapewright.capture.applying import apply
from shapewright.capture.asking import ask_torch
from shapewright.capture.devices import check_devices
from shapewright.capture.identity import VALUED, Info
from shapewright.capture.names import plain_name
from shapewright.capture.private import any_autocast
from shapewright.capture.ruled import ruled
from shapewright.capture.settling import poison, writes

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def miss(
    engine: Engine,
    func: Any,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    key: tuple[Any, ...] | None,
) -> Any:
    """First call with this key: a rule answers, else torch."""
    name = plain_name(func)
    if check_devices(engine, name, infos):
        key = None  # what is remembered is not checked again, at another line
    if "out" in kwargs or writes(name, kwargs):
        overlapping.check(engine, func, name, args, kwargs, infos)
    if any_autocast():
        error = autocast.refuse(name, [info.meta for info in infos])
        if error is not None:
            engine.raise_theirs(error)
    if all(info.meta.layout == "strided" for info in infos):
        answer = ruled(engine, func, name, args, kwargs, infos)
        if answer is not None:
            if key is not None:
                engine.memo.answers[key] = answer
            return apply(engine, answer, args, kwargs, infos)
    return ask_torch(engine, func, name, args, kwargs, infos, key)


def initialise(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """`nn.init`: the values of a parameter are unknown anyway, so nothing is drawn."""
    kwargs = kwargs or {}
    target = kwargs.get("tensor", args[0] if args else None)
    if isinstance(target, torch.Tensor):
        info = engine.info(target)
        if info.kind == VALUED and info.storage.known:
            return engine.run(func, args, kwargs)
        poison(info.storage)
    return target
