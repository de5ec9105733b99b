"""Calls that take from an unknown tensor where to cut or how often to repeat.

Results that do not depend on the position (`narrow`), or that have their size given
(`output_size`), are exact; the others are assumed, and the report says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.dispatch.results import convert_for_record
from shapewright.engine.function_names import get_display_name
from shapewright.engine.identity import Info, count_elements
from shapewright.engine.values import supposed_values
from shapewright.operators.promotion_and_broadcasting import not_implemented

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def replace_positions(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:
    """Replace unknown positions of `narrow` and `tensor_split` by plain numbers."""
    if name == "narrow":
        start: Any = args[2] if len(args) > 2 else kwargs.get("start")
        if _is_unknown(engine, start) and not start.dim():
            engine.assume(f"`{get_display_name(func)}` at an unknown place: taken at 0")
            return _with_argument(args, kwargs, 2, "start", "start", 0)
    word = "tensor_indices_or_sections"
    where: Any = args[1] if len(args) > 1 else kwargs.get(word)
    if name != "tensor_split" or not _is_unknown(engine, where):
        return args, kwargs
    if where.dtype != torch.int64 or where.dim() > 1:
        return args, kwargs
    if not where.dim():
        engine.assume(
            "`torch.tensor_split` into an unknown number of parts: taken as 1"
        )
        return _with_argument(args, kwargs, 1, word, "sections", 1)
    dim: Any = kwargs.get("dim", args[2] if len(args) > 2 else 0)
    whole = args[0] if args else kwargs["input"]
    shape, count = engine.info(whole).meta.shape, where.shape[0]
    if not -len(shape) <= dim < len(shape):
        return args, kwargs
    if count:
        engine.assume("`torch.tensor_split` at unknown places: taken as equal parts")
    ends = [-(-shape[dim] * (i + 1) // (count + 1)) for i in range(count)]
    return _with_argument(args, kwargs, 1, word, "indices", ends)


def replace_counts(
    engine: Engine, args: Args, kwargs: Kwargs, supposed: str = ""
) -> tuple[Args, Kwargs]:
    """Replace known integer tensors by plain numbers, which are sizes of the result.

    `supposed` is the call in which unknown numbers are assumed to be 1.
    """

    def number(value: Tensor) -> Any:
        fraction = value.is_floating_point() or value.is_complex()
        if value.dim() or fraction or value.dtype == torch.bool:
            return value
        if engine.info(value).storage.known:
            return _read_known_number(engine, value)
        if not supposed:
            return value
        engine.assume(
            f"`{supposed}` got a size or value that is not known; 1 is assumed"
        )
        return 1

    changed: tuple[Args, Kwargs] = nests.swap_tensors((args, kwargs), number)
    return changed


FACTORS = frozenset({"alpha", "beta", "value", "weight", "lambd", "p", "eps"})
"""Arguments that are numbers and never sizes."""

SCALES = frozenset({"scale_factor", "size"})
"""Arguments that decide a size, whatever their dtype."""


def replace_scalars(engine: Engine, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Replace 0-dim tensors by numbers of the same type where torch expects a number.

    The value of `alpha` in `x.add_(y, alpha=-step_size)` does not change the result's
    metadata. Keywords go first; else what comes after the first tensor. A whole
    number may be a size, which decides the shape: it is left to
    `replace_counts`, unless its name says that it is none.
    """

    def number(value: Tensor) -> Any:
        if value.dim() or not value.dtype.is_floating_point:
            return value
        return read(value)

    def read(value: Tensor) -> Any:
        if value.dim():
            return value
        info = engine.info(value)
        with torch._C.DisableTorchFunction(), torch.no_grad():
            if info.storage.known:
                return engine.value_of(value).item()
        return supposed_values.guess_value(engine, info).value.item()

    named = {
        key: nests.swap_tensors(value, read if key in FACTORS else number)
        if key not in SCALES
        else value
        for key, value in kwargs.items()
    }
    if len(nests.collect_tensors(named)) < len(nests.collect_tensors(kwargs)):
        return args, named
    return (*args[:1], *nests.swap_tensors(args[1:], number)), kwargs


def _read_known_number(engine: Engine, value: Tensor) -> int:
    """Return the value of a known 0-dim tensor; report what was assumed for it."""
    assumed = engine.info(value).storage.assumed
    if assumed:
        engine.assume(f"a value was read that is {assumed}")
    return int(engine.value_of(value))


def replace_slice_bounds(engine: Engine, where: Any) -> Any:
    """Replace the bounds of slices by plain numbers, and unknown bounds by None."""
    items = where if type(where) is tuple else (where,)
    if not any(type(item) is slice and _has_tensor_bounds(item) for item in items):
        return where

    def bound(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if not _is_unknown(engine, value):
            return _read_known_number(engine, value)
        engine.assume("a slice to or from an unknown place: taken to the end")
        return None

    slices = tuple(
        slice(bound(item.start), bound(item.stop), bound(item.step))
        if type(item) is slice
        else item
        for item in items
    )
    return slices if type(where) is tuple else slices[0]


def _has_tensor_bounds(item: slice) -> bool:
    return any(
        isinstance(bound, Tensor) for bound in (item.start, item.stop, item.step)
    )


def _is_unknown(engine: Engine, value: Any) -> bool:
    """Return whether the value is an integer tensor whose values are unknown."""
    if not isinstance(value, Tensor) or value.is_floating_point() or value.is_complex():
        return False
    return value.dtype != torch.bool and not engine.info(value).storage.known


def _with_argument(
    args: Args, kwargs: Kwargs, place: int, word: str, new: str, value: Any
) -> tuple[Args, Kwargs]:
    """Return the arguments with one of them replaced, by position or by name."""
    if len(args) > place:
        return (*args[:place], value, *args[place + 1 :]), kwargs
    rest = {key: item for key, item in kwargs.items() if key != word}
    return args, {**rest, new: value}


def answer_repeat_interleave(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Run `repeat_interleave` with unknown counts: `output_size`, else once each."""
    arguments = dict(zip(("input", "repeats", "dim"), args, strict=False)) | kwargs
    alone = len(infos) == 1
    times = infos[0 if alone else 1].meta
    if times.dtype not in ("int32", "int64"):
        refused = not_implemented("repeat_interleave_cpu", times.dtype)
        engine.raise_theirs(NotImplementedError(str(refused)))
    if alone and len(times.shape) != 1:
        words = "repeat_interleave only accept 1D vector as repeat"
        engine.raise_theirs(RuntimeError(words))
    called = kwargs
    if arguments.get("output_size") is None:
        shape, dim = infos[0].meta.shape, arguments.get("dim")
        inside = dim is None or -len(shape) <= dim < len(shape)
        size = count_elements(shape) if dim is None else shape[dim] if inside else 0
        counts = arguments["input" if alone else "repeats"]
        storage = infos[0 if alone else 1].storage
        if storage.known and size:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                values = engine.value_of(counts)
                one_count = values.numel() == 1 and not alone
                size = int(values.sum()) * (size if one_count else 1)
        elif size:
            name = get_display_name(func)
            engine.assume(f"`{name}` of unknown data is assumed to repeat each once")
        called = {**kwargs, "output_size": size}
    out = engine.ask_torch(func, "repeat_interleave", args, called, infos, None)
    if engine.recording:
        engine.events[-1][0].arguments = convert_for_record(engine, args, kwargs)
    return out
