"""Reads of sizes that remember which tensor they were read from."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from operator import mul
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine.dispatch.answers import find_rule
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import Info, compute_contiguous_stride
from shapewright.engine.private import is_transformed
from shapewright.engine.recipes.recipe import note_arguments
from shapewright.engine.tracked_sizes.comparisons import (
    STANDING,
    Comparisons,
    replace_functions,
)
from shapewright.engine.tracked_sizes.numbers import KINDS, to_plain, track_number
from shapewright.operators.facts import operators_with
from shapewright.record.guards import SizeRead

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine, Plan

Tensor = torch.Tensor
SIZES = operators_with("reads_size")


def watch_reads(plan: Plan, func: Any, seen: Comparisons) -> Plan:
    """Wrap a function's plan: it gets plain numbers, and its size reads are tracked.

    Nothing behind this border meets a size that remembers: no key, no event.
    """
    name = get_plain_name(func)
    reads = name if name in SIZES else None

    unruled = find_rule(func) is None

    def run(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
        asked, named = _to_plain(args), _to_plain(kwargs)
        events = len(engine.events)
        out = plan(engine, func, asked, named)
        same = asked is args and named is kwargs
        if len(engine.events) == events + 1 and (unruled or not same):
            seen.arguments[events] = note_arguments(args, kwargs)
        args, kwargs = asked, named
        if reads is None or not args or not isinstance(args[0], Tensor):
            return out
        return _track_read(engine, reads, args[0], out, args[1:], kwargs or {}, seen)

    return run


def _track_read(
    engine: Engine,
    name: str,
    tensor: Tensor,
    out: Any,
    args: Any,
    kwargs: Any,
    seen: Comparisons,
) -> Any:
    """Return a tracked result of a read, if the dims of the tensor are as recorded."""
    if not seen.open:
        return out
    if is_transformed(tensor):
        seen.lose("inside torch.func", far=True)
        return out
    seen.meet()
    with torch._C.DisableTorchFunction():
        info = engine.info(tensor)
    sizes = _track_strides(info, seen) if name == "stride" else _track_dims(info, seen)
    tracked: Any = sizes
    if name in ("numel", "nelement"):
        tracked = reduce(mul, sizes, 1)
    elif isinstance(out, tuple):
        tracked = type(out)(sizes)
    else:
        dim = args[0] if args else kwargs.get("dim")
        tracked = sizes[dim] if isinstance(dim, int) and -len(sizes) <= dim else out
    return tracked if _to_plain(tracked) == out else out


def _track_dims(info: Info, seen: Comparisons) -> list[Any]:
    """Return the sizes of a tensor as tracked reads."""
    return [
        track_number(size, SizeRead(info.number, dim, size), 1, seen)
        for dim, size in enumerate(info.meta.shape)
    ]


def _track_strides(info: Info, seen: Comparisons) -> list[Any]:
    """Return the strides as products of sizes if the tensor is row-major."""
    stride = info.meta.stride
    if stride != compute_contiguous_stride(info.meta.shape) or 0 in info.meta.shape:
        return list(stride)
    sizes = _track_dims(info, seen)
    return [reduce(mul, sizes[dim + 1 :], 1) for dim in range(len(sizes))]


def _to_plain(value: Any) -> Any:
    """Return nested values with plain numbers; the same object if none are tracked."""
    kind = type(value)
    if kind in KINDS:
        return to_plain(value)
    if kind is type(STANDING["int"]):
        return value.stands_for
    if kind is tuple or kind is list or kind is torch.Size:
        items = [_to_plain(item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else kind(items)
    if kind is slice:
        ends = [_to_plain(end) for end in (value.start, value.stop, value.step)]
        return slice(*ends)
    if kind is dict:
        named = {name: _to_plain(item) for name, item in value.items()}
        same = all(named[name] is item for name, item in value.items())
        return value if same else named
    return value


def remember_sizes(
    engine: Engine, seen: Comparisons, target: Any, modules: list[Any]
) -> AbstractContextManager[None]:
    """Track the results of `len(x)`, `int(size)` and similar calls during a run."""

    def length(value: Any, size: int) -> int:
        if not isinstance(value, Tensor) or not seen.open:
            return size
        tracked: int = _track_read(engine, "size", value, size, (0,), {}, seen)
        return tracked

    if seen.names is None:
        return nullcontext()
    kinds = {type(module) for module in modules}
    for function in (target, *(kind.forward for kind in kinds)):
        function = getattr(function, "__func__", function)
        if isinstance(function, FunctionType):
            seen.enter(function)
    return replace_functions(seen.names, length)
