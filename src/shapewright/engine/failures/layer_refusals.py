"""Layers of torch whose own Python refuses what they are given.

`nn.LSTM` compares sizes before it calls anything, `nn.BatchNorm2d` counts dims. Such a
call is noted like an operator's, named after the layer's class, and the layer runs
again on what it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch import nn

from shapewright.engine.call_sites import TORCH
from shapewright.engine.dispatch.answers import needs_of
from shapewright.engine.failures.continuation import passed
from shapewright.engine.identity import DTYPE_NAMES
from shapewright.operators.needs_registry import Needs

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def is_own(module: nn.Module, error: BaseException) -> bool:
    """Whether a layer of torch's raised it in its own Python."""
    if isinstance(module, CONTAINERS) or not isinstance(error, Exception):
        return False
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    file = where.tb_frame.f_code.co_filename if where is not None else ""
    return file.startswith(f"{TORCH}nn") and class_of(module) is not None


def class_of(module: nn.Module) -> type | None:
    """The nearest class of a layer that is torch's own."""
    return next(
        (
            kind
            for kind in type(module).__mro__
            if kind.__module__.startswith("torch.nn.") and kind is not nn.Module
        ),
        None,
    )


def refused(
    engine: Engine, module: nn.Module, original: Any, args: Any, kwargs: Any, error: Any
) -> Any:
    """What the layer gives on what it needs; raises where nobody knows that."""
    kind = class_of(module)
    need = with_layer(needs_of(kind), module)

    def plan(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
        return original(module, *args, **kwargs)

    engine.raised(error)
    frame, more = sys._getframe(2), tuple(settings_of(module))
    return passed(engine, plan, kind, args, kwargs, error, need, frame, more)


def settings_of(module: nn.Module) -> Iterator[int]:
    """Whole numbers among a layer's settings, which may be sizes."""
    for value in vars(module).values():
        each = value if isinstance(value, tuple) else (value,)
        yield from (item for item in each if type(item) is int)


def with_layer(need: Needs | None, module: nn.Module) -> Needs | None:
    """The need of a layer, that knows the layer's plain attributes."""
    if need is None:
        return None
    plain = (bool, int, float, str, tuple)
    layer = {k: v for k, v in vars(module).items() if isinstance(v, plain)}
    first = next(module.parameters(recurse=False), None)
    if first is not None:
        layer["weight_dtype"] = DTYPE_NAMES[first.dtype]

    def bound(*args: Any, **kwargs: Any) -> Any:
        return need(*args, **kwargs, layer=layer)

    bound.__wrapped__ = need  # type: ignore[attr-defined]
    return bound
