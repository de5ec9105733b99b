"""Factories: `torch.zeros`, `arange`, `tensor`, `zeros_like`, `new_full` ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _device

from shapewright.engine import nests
from shapewright.engine.devices import (
    check_generator_device,
    find_claimed_device,
    resolve_device,
)
from shapewright.engine.dispatch import plan_tables
from shapewright.engine.dispatch.results import get_versions, record_results
from shapewright.engine.function_names import get_display_name
from shapewright.engine.identity import (
    BLANK,
    META,
    VALUED,
    Info,
    Storage,
    intern_meta,
    is_whole,
)
from shapewright.engine.memo import NEW, Answer
from shapewright.engine.private import is_transformed
from shapewright.engine.values import unknown_lengths
from shapewright.engine.values.data_values import DRAW, describe_data
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def answer_factory(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer a factory: small tensors are real with known values, large data-free."""
    kwargs = kwargs or {}
    name = func.__name__
    tensors = nests.collect_tensors((args, kwargs))
    infos = [engine.info(value) for value in tensors]
    if kwargs.get("out") is not None:
        return engine.call_op(func, args, kwargs)
    if name in plan_tables.LIKE or name in ("new_tensor", "new"):
        return _create_like(engine, func, name, args, kwargs, infos)
    if any(not info.storage.known for info in infos):
        return _create_from_unknown(engine, func, name, args, kwargs, infos)
    device = _find_device(engine, kwargs, infos)
    if kwargs.get("generator") is not None:
        check_generator_device(engine, kwargs["generator"], device)
    size = _count_elements(name, args, kwargs)
    if size is None or size <= engine.known_limit:
        if size is not None and name not in plan_tables.BLANK_FACTORIES:
            return create_known(engine, func, name, args, kwargs, infos, device)
        if size is None and name in plan_tables.DATA:
            return create_known(engine, func, name, args, kwargs, infos, device)
    if name not in plan_tables.BLANK_FACTORIES:
        engine.lose()
    return _create_blank(engine, func, args, kwargs, infos, device)


def _find_device(engine: Engine, kwargs: Kwargs, infos: list[Info]) -> str:
    """Return the device that the result of a factory claims."""
    if kwargs.get("device") is not None:
        return resolve_device(engine, kwargs["device"])
    if infos:
        return infos[0].meta.device
    default = _device.CURRENT_DEVICE  # `with torch.device("cuda"):`
    return (
        engine.home_of_factories if default is None else resolve_device(engine, default)
    )


def has_only_numbers(func: Any, args: Args) -> bool:
    """Return whether a call turns plain numbers into a tensor: `torch.div(7, 2)`."""
    return getattr(func, "__name__", "") in plan_tables.OF_NUMBERS and all(
        isinstance(value, int | float | complex) for value in args
    )


def create_known(
    engine: Engine,
    func: Any,
    name: str,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    device: str,
) -> Any:
    """Create a small tensor with data, since its values follow from constants."""
    if not infos and not engine.graph:
        return _create_from_constants(engine, func, name, args, kwargs, device)
    physical = nests.replace_devices(
        nests.swap_tensors((args, kwargs), engine.value_of), "cpu"
    )
    before = nests.collect_tensors(physical)
    versions = get_versions(before)
    out = engine.run(func, *physical)
    assumed = DRAW if name in plan_tables.RANDOM else None
    if not isinstance(out, torch.Tensor):
        return out
    if is_transformed(out) and out.is_floating_point():
        out = out.to("meta")  # in its graph no device may mix
    is_data = name in plan_tables.DATA and not infos
    values = describe_data(engine, out) if is_data else None
    result = record_results(
        engine, func, args, kwargs, infos, before, versions, out,
        assumed=assumed, device=device,
    )  # fmt: skip
    if values is not None:
        engine.data_values[engine.info(result).number] = values
    return result


def _create_from_constants(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, device: str
) -> Any:
    """Answer the common case: no input tensor and a single new output tensor."""
    called = kwargs
    if "device" in kwargs or "pin_memory" in kwargs or "generator" in kwargs:
        called = nests.replace_devices(((), kwargs), "cpu")[1]
    out = engine.run(func, args, called)
    if type(out) is not torch.Tensor or out.layout is not torch.strided:
        return out if not isinstance(out, torch.Tensor) else engine.info(out) and out
    assumed = DRAW if name in plan_tables.RANDOM else None
    meta = intern_meta(engine.memo.metas, out, device, out.requires_grad)
    values = describe_data(engine, out) if name in plan_tables.DATA else None
    held = name in plan_tables.DATA and is_whole(out.dtype)
    known = out.numel() <= (engine.held_limit if held else engine.known_limit)
    if not known:  # the program had the data, but no rule needs it
        out = torch.empty_strided(meta.shape, meta.stride, dtype=out.dtype, device=META)
    info = Info(meta, Storage(device, known, assumed), VALUED if known else BLANK)
    if values is not None:
        engine.data_values[info.number] = values
    out._sw = info  # type: ignore[attr-defined]
    out._sw_life = engine.life  # type: ignore[attr-defined]
    if engine.recording:
        arguments = nests.to_plain((args, kwargs), lambda t: engine.info(t).meta)
        answer = Answer(func, arguments, NEW, (meta,), (None,))
        engine.events.append((answer, (), (info,), engine.sites.here(), engine.call))
    return out


def _create_blank(
    engine: Engine,
    func: Any,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    device: str,
) -> Any:
    """Create the result without data."""
    args, kwargs = unknown_lengths.replace_counts(
        engine, args, kwargs, get_display_name(func)
    )
    infos = [engine.info(value) for value in nests.collect_tensors((args, kwargs))]
    physical = nests.replace_devices(
        nests.swap_tensors((args, {**kwargs, "device": "meta"}), engine.blank_of)
    )
    out = engine.run(func, *physical)
    return record_results(
        engine, func, args, kwargs, infos, nests.collect_tensors(physical),
        [0] * len(infos), out, device=device, known=False,
    )  # fmt: skip


def _create_like(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Answer `zeros_like(x)` or `x.new_zeros(...)`, whose values do not depend on x."""
    model = args[0] if args else kwargs["input"]
    info = engine.info(model)
    if info.meta.layout != "strided":
        return engine.call_op(func, args, kwargs)
    device = find_claimed_device(engine, [info], kwargs)
    others = [i for i in infos if i is not info]
    size: int | None = None
    if name.endswith("_like"):
        size = model.numel()
    elif not _has_unknown(others):
        size = _count_elements(name, args[1:], kwargs)
    small = size is not None and size <= engine.known_limit
    if name in ("new_tensor", "new") and not others:
        small = size is None or small
    if not small or name in plan_tables.BLANK_FACTORIES or _has_unknown(others):
        if not small and name not in plan_tables.BLANK_FACTORIES:
            engine.lose()
        if name.endswith("_like"):
            return engine.call_op(func, args, kwargs)
        return _create_blank(engine, func, args, kwargs, infos, device)
    shape = info.meta.shape if name.endswith("_like") else (0,) * model.dim()
    stride = info.meta.stride if name.endswith("_like") else (1,) * model.dim()
    stand_in = torch.empty_strided(shape, stride, dtype=info.meta.torch_dtype)
    rest = nests.swap_tensors((args[1:], kwargs), engine.value_of)
    called = nests.replace_devices(((stand_in, *rest[0]), rest[1]), "cpu")
    out = engine.run(func, *called)
    assumed = DRAW if name in plan_tables.RANDOM else None
    before = nests.collect_tensors(called)
    return record_results(
        engine, func, args, kwargs, infos, before, get_versions(before), out,
        assumed=assumed, device=device,
    )  # fmt: skip


def _has_unknown(infos: list[Info]) -> bool:
    return any(not info.storage.known for info in infos)


def _create_from_unknown(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Create a tensor of known shape from unknown values."""
    device = _find_device(engine, kwargs, infos)
    data = args[0] if args else kwargs.get("data")
    if name in plan_tables.DATA and isinstance(data, torch.Tensor):
        dtype = kwargs.get("dtype")
        moved = data.to(dtype) if dtype is not None else data
        return _copy_tensor(engine, func, args, kwargs, infos, moved, device, name)
    physical = nests.replace_devices(
        nests.swap_tensors(
            (args, kwargs),
            lambda value: torch.ones(value.shape, dtype=value.dtype).squeeze(),
        ),
        "cpu" if name in plan_tables.DATA else "meta",
    )
    if "device" not in physical[1] and name not in plan_tables.DATA:
        physical[1]["device"] = "meta"
        engine.assume(f"`{name}` got a size or value that is not known; 1 is assumed")
    real = engine.run(func, *physical)
    out = real.detach().to("meta").requires_grad_(real.requires_grad)  # still a leaf
    return record_results(
        engine, func, args, kwargs, infos, [v.to("meta") for v in _make_parts(infos)],
        [0] * len(infos), out, device=device, known=False,
    )  # fmt: skip


def _make_parts(infos: list[Info]) -> list[torch.Tensor]:
    return [torch.empty(0) for _ in infos]


def _copy_tensor(
    engine: Engine,
    func: Any,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    moved: torch.Tensor,
    device: str,
    name: str,
) -> Any:
    """Answer `torch.tensor(x)`, a copy, and `torch.as_tensor(x)`, possibly x itself."""
    original = nests.collect_tensors((args, kwargs))[0]
    info = infos[0]
    if name != "tensor" and moved is original and device == info.meta.device:
        return original
    out = torch.empty_strided(
        moved.shape,
        moved.stride(),
        dtype=moved.dtype,
        device="meta",
        requires_grad=bool(kwargs.get("requires_grad")),
    )
    return record_results(
        engine, func, args, kwargs, infos, _make_parts(infos), [0] * len(infos), out,
        device=device, known=False,
    )  # fmt: skip


SIZED = operators_with("is_sized_factory")


def _count_elements(name: str, args: Args, kwargs: Kwargs) -> int | None:
    """Return the number of elements that a factory creates; None if it is unclear."""
    try:
        if name in ("arange", "range"):
            return _count_arange(args, kwargs)
        if name in ("linspace", "logspace"):
            steps: Any = kwargs.get("steps", args[2] if len(args) > 2 else 100)
            return int(steps)
        if name == "scalar_tensor":
            return 1
        if name in ("tril_indices", "triu_indices"):
            row, column = (*args, *kwargs.values())[:2]
            return 2 * int(row) * int(column)
        if name == "eye":
            n = int(args[0] if args else kwargs["n"])
            m = args[1] if len(args) > 1 else kwargs.get("m")
            return n * int(n if m is None else m)
        if name == "randint":
            size = kwargs.get("size")
            if size is None:
                size = next(a for a in args if isinstance(a, tuple | list))
            return _multiply_sizes(size)
        if name == "normal":
            return _multiply_sizes(kwargs["size"] if "size" in kwargs else args[2])
        if name in SIZED:
            size = kwargs.get("size", args[0] if args else ())
            if not isinstance(size, tuple | list):
                size = [a for a in args if isinstance(a, int | torch.Tensor)]
            return _multiply_sizes(size)
    except (
        TypeError, ValueError, StopIteration, KeyError, IndexError, OverflowError
    ):  # fmt: skip
        return None
    return None


def _multiply_sizes(sizes: Any) -> int:
    total = 1
    for size in sizes:
        total *= int(size)
    return total


def _count_arange(args: Args, kwargs: Kwargs) -> int:
    numbers = [float(a) for a in args]
    start, step = 0.0, 1.0
    if len(numbers) == 1:
        end = numbers[0]
    elif numbers:
        start, end = numbers[0], numbers[1]
        step = numbers[2] if len(numbers) > 2 else 1.0
    else:
        end = 0.0
    start = float(kwargs.get("start", start))
    end = float(kwargs.get("end", end))
    step = float(kwargs.get("step", step)) or 1.0
    return max(0, int((end - start) / step) + 1)
