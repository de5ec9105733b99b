"""Calls that may share storage: views, casts, and moves between claimed devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import Parameter

from shapewright.engine import nests
from shapewright.engine.devices import resolve_device
from shapewright.engine.dispatch import plan_tables, results, torch_answers
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import (
    BLANK,
    VALUED,
    Info,
    Meta,
    Storage,
    intern_meta,
    make_opaque_meta,
)
from shapewright.engine.memo import COPY, NEW, SAME, VIEW, Answer
from shapewright.engine.private import UninitializedTensor
from shapewright.engine.values import known_values, unknown_lengths

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def answer_view(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer a call whose result may be its input, a view of it, or a copy.

    The call always runs, because it may share storage; its answer is memoized.
    """
    first = args[0] if args else None
    if type(first) is not Tensor and type(first) is not Parameter:
        return answer_general_view(engine, func, args, kwargs or {})
    info: Info = getattr(first, "_sw", None) or engine.info(first)
    if not kwargs:
        return answer_plain_view(engine, func, first, info, args[1:], args[1:])
    if not (info.meta.requires_grad and torch.is_grad_enabled()):
        return answer_general_view(engine, func, args, kwargs)
    hashed = (*args[1:], *kwargs.items())
    return answer_plain_view(engine, func, first, info, args[1:], hashed, kwargs)


def answer_plain_view(
    engine: Engine,
    func: Any,
    first: Tensor,
    info: Info,
    rest: Args,
    hashed: Args,
    kwargs: Kwargs | None = None,
) -> Any:
    """Answer a view of data-free storage from the memo, else in the general form."""
    kwargs = kwargs or {}
    meta = info.meta
    followed = meta.requires_grad and torch.is_grad_enabled()
    key = (func, meta, hashed, GRAD) if followed else (func, meta, hashed)
    try:
        answer = engine.memo.answers.get(key)
    except TypeError:  # lists, slices
        answer = None
    storage = info.storage
    if (
        answer is None
        or info.kind != BLANK
        or storage.known
        or (engine.graph and meta.requires_grad)
    ):
        if not followed or engine.graph:
            return answer_general_view(engine, func, (first, *rest), kwargs, hashed)
        events = len(engine.events)
        out = answer_general_view(engine, func, (first, *rest), kwargs, hashed)
        if len(engine.events) == events + 1 and not engine.verify:
            _memoize_view(engine, key, first, info)
        return out
    out = func(first if info.twin is None else info.twin, *rest, **kwargs)
    kind = answer.kind
    if type(out) is Tensor:
        if kind == SAME:
            out, new = first, info
        else:
            if kind != VIEW:
                storage = Storage(meta.device)
            storage.viewed = kind == VIEW
            new = Info(answer.metas[0], storage, BLANK, answer.grad_fns[0])
            out._sw = new  # type: ignore[attr-defined]
            out._sw_life = engine.life  # type: ignore[attr-defined]
        if engine.recording:
            engine.events.append(
                (answer, (info,), (new,), engine.sites.here(), engine.call)
            )
        return out
    outs = []
    for item, known, node in zip(out, answer.metas, answer.grad_fns, strict=True):
        new = Info(known, info.storage, BLANK, node)
        info.storage.viewed = True
        item._sw = new
        item._sw_life = engine.life
        outs.append(new)
    engine.record(answer, (info,), tuple(outs))
    return out


GRAD = "followed by autograd"


def _memoize_view(
    engine: Engine, key: tuple[Any, ...], first: Tensor, info: Info
) -> None:
    """Memoize the answer to a differentiable view, which depends on metadata alone."""
    answer, ins, outs, _, _ = engine.events[-1]
    plain = answer.func is key[0] and len(ins) == 1 and ins[0] is info
    fresh = all(out.kind == BLANK and out.meta.layout == "strided" for out in outs)
    one_view = len(outs) == 1 and answer.kind in (VIEW, COPY)
    shared = all(out.storage is info.storage for out in outs)
    same = answer.kind == SAME and outs[:1] == (info,) and len(outs) == 1
    if info.kind != BLANK or not plain or not outs or not fresh or answer.notes:
        return
    if not (one_view or same or (answer.kind == VIEW and shared)):
        return
    name = get_plain_name(answer.func)
    if first.is_inference() or (name.endswith("_") and not name.startswith("_")):
        return
    try:
        engine.memo.answers[key] = answer
    except TypeError:
        return


def _answer_lazy_view(
    engine: Engine, func: Any, lazy: Any, args: Args, kwargs: Kwargs
) -> Any:
    """Answer `.data` of a parameter without a shape, which is where the parameter was
    moved: it is made there once its shape is known.
    """
    out = engine.run(func, args, kwargs)
    device = engine.info(lazy).meta.device
    if isinstance(out, Tensor) and out is not lazy and device != out.device.type:
        meta = intern_meta(engine.memo.metas, out, device, False)
        engine.tell(out, Info(meta, Storage(device), BLANK))
    return out


def answer_general_view(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, hashed: Args | None = None
) -> Any:
    """Answer a view in any form; memoize it if its arguments are plain values."""
    if func is Tensor.__getitem__:
        where = unknown_lengths.replace_slice_bounds(engine, args[1])
        if where is not args[1]:
            args, hashed = (args[0], where), (where,)
    first, rest = args[0] if args else None, args[1:]
    if type(first) is not Tensor and type(first) is not Parameter:
        if isinstance(first, UninitializedTensor):
            return _answer_lazy_view(engine, func, first, args, kwargs)
        return answer_slow_view(engine, func, args, kwargs)
    info = engine.info(first)
    if (
        (engine.graph and info.meta.requires_grad)
        or info.kind != BLANK
        or info.storage.known
        or info.meta.layout != "strided"
        or (info.meta.requires_grad and torch.is_grad_enabled())
        or nests.collect_tensors((rest, kwargs))
    ):
        return answer_slow_view(engine, func, args, kwargs)
    physical = first if info.twin is None else info.twin
    arguments = ((info.meta, *rest), kwargs)
    try:
        out = func(physical, *rest, **kwargs)
    except BaseException as error:  # torch refuses
        error = _reword_error(engine, func, args, kwargs, error)
        engine.raise_theirs(
            results.record_failure(engine, func, arguments, [info], error)
        )
    kept = info.meta.requires_grad and not first.is_inference()
    kept = kept and get_plain_name(func) not in plan_tables.CUTS
    if out is physical:
        answer = Answer(func, arguments, SAME, (info.meta,), (info.grad_fn,))
        engine.record(answer, (info,), (info,))
        out = first
    elif isinstance(out, Tensor):
        shared, new = _attach_storage(engine, out, physical, info, kept)
        answer = Answer(func, arguments, VIEW if shared else COPY, (new.meta,), (None,))
        engine.record(answer, (info,), (new,))
    elif isinstance(out, tuple | list):
        outs = tuple(
            _attach_storage(engine, item, physical, info, kept)[1] for item in out
        )
        metas = tuple(item.meta for item in outs)
        answer = Answer(func, arguments, VIEW, metas, (None,) * len(outs))
        engine.record(answer, (info,), outs)
    else:
        return out
    if not kwargs and not engine.verify:
        try:
            engine.memo.answers[
                (func, info.meta, rest if hashed is None else hashed)
            ] = answer
        except TypeError:
            pass
    return out


def _attach_storage(
    engine: Engine, out: Tensor, physical: Tensor, info: Info, follows: bool
) -> tuple[bool, Info]:
    """Return whether a result shares its data-free input's storage, and its info.

    A view that is made without grad still requires grad if its base does.
    """
    shared = out.untyped_storage()._cdata == physical.untyped_storage()._cdata
    storage = info.storage if shared else Storage(info.meta.device)
    storage.viewed = storage.viewed or shared
    rg = shared and follows and results.is_differentiable(out.dtype, info.meta)
    meta = intern_meta(engine.memo.metas, out, info.meta.device, rg)
    new = Info(meta, storage, BLANK)
    engine.tell(out, new)
    return shared, new


def answer_slow_view(engine: Engine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Answer a view in the general form, for any operands and known values."""
    infos = [engine.info(value) for value in nests.collect_tensors((args, kwargs))]
    if _can_compute(engine, infos):
        done = known_values.compute_known(engine, func, args, kwargs, infos)
        if done is not known_values.TOO_LARGE:
            return done
    if any(info.storage.known for info in infos) and len(infos) > 1:
        args, kwargs = _convert_sizes(engine, args, kwargs)
        infos = [engine.info(value) for value in nests.collect_tensors((args, kwargs))]
    name = get_plain_name(func)
    if name in ("narrow", "tensor_split") and len(infos) > 1:
        args, kwargs = unknown_lengths.replace_positions(
            engine, func, name, args, kwargs
        )
        infos = [engine.info(value) for value in nests.collect_tensors((args, kwargs))]
    return torch_answers.ask_torch(engine, func, name, args, kwargs, infos, None)


def _can_compute(engine: Engine, infos: list[Info]) -> bool:
    known = bool(infos) and all(info.storage.known for info in infos)
    return known and known_values.can_compute(engine, infos)


def _convert_sizes(engine: Engine, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Convert known 0-dim integer tensors given as sizes to numbers."""

    def size(value: Any) -> Any:
        if isinstance(value, Tensor) and value.dim() == 0:
            info = engine.info(value)
            if info.storage.known and not value.dtype.is_floating_point:
                return int(engine.value_of(value))
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return type(value)(size(item) for item in value)
        return value

    return (args[0], *(size(v) for v in args[1:])), {
        name: size(v) for name, v in kwargs.items()
    }


def _reword_error(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, error: BaseException
) -> BaseException:
    """Return the error with the message of the CPU, if a call on the CPU costs nothing.

    Views compute nothing, so the same call on a CPU tensor without memory of its own
    (all strides zero) raises what the user would see.
    """
    if not isinstance(error, Exception):
        return error
    try:
        stand_in = [
            torch.empty_strided(
                info.meta.shape, info.meta.stride, dtype=info.meta.torch_dtype
            )
            if _count_bytes(info.meta) <= 1 << 20
            else torch.empty((), dtype=info.meta.torch_dtype).expand(info.meta.shape)
            for info in (engine.info(v) for v in nests.collect_tensors((args, kwargs)))
        ]
        parts = iter(stand_in)
        swapped = nests.swap_tensors((args, kwargs), lambda _: next(parts))
        func(*swapped[0], **swapped[1])
    except Exception as eager:  # torch refuses
        return eager
    return error


def _count_bytes(meta: Meta) -> int:
    total = meta.torch_dtype.itemsize
    for size in meta.shape:
        total *= size
    return total


def answer_move(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `to`, `cuda` and `cpu`: a move only changes the device that is claimed."""
    name = get_plain_name(func)
    target, kwargs = args[0], dict(kwargs or {})
    info = engine.info(target)
    device, cast = (
        _read_to(engine, list(args[1:]), kwargs)
        if name == "to"
        else _read_named_move(engine, name, info, list(args[1:]), kwargs)
    )
    if info.meta.layout != "strided":
        if cast and name == "to":
            target = answer_slow_view(engine, func, (target,), cast)
            info = engine.info(target)
        if device is None or device == info.meta.device:
            return target
        return _claim_anew(engine, func, target, info, device, args[1:])
    if device is None or device == info.meta.device:
        if not cast:
            return _record_same(engine, func, target, info, args[1:])
        return answer_view(engine, Tensor.to, (target,), cast)
    return _copy_to_device(engine, func, target, info, cast, device, args[1:])


def answer_type(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `type`: a tensor type or its name, `torch.FloatTensor`, is a dtype on the
    CPU; torch would copy what has no data there. Without a type the answer is a name.
    """
    kwargs = kwargs or {}
    asked = args[1] if len(args) > 1 else kwargs.get("dtype")
    info = engine.info(args[0])
    if asked is None:
        name: str = func(torch.empty(0, dtype=info.meta.torch_dtype))
        device = info.meta.device.split(":")[0]
        return name if device == "cpu" else name.replace("torch.", f"torch.{device}.")
    if isinstance(asked, type):
        asked = f"{asked.__module__}.{asked.__name__}"
    name = asked.removeprefix("torch.") if isinstance(asked, str) else ""
    is_default = asked == "torch.Tensor"
    dtype = torch.get_default_dtype() if is_default else LEGACY_TYPES.get(name)
    if dtype is None:
        return answer_view(engine, func, args, kwargs)
    if info.meta.device == "cpu":
        return answer_view(engine, func, (args[0], dtype), None)
    return answer_move(engine, Tensor.to, (args[0], "cpu", dtype), None)


LEGACY_TYPES = {
    "FloatTensor": torch.float32, "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16, "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64, "IntTensor": torch.int32, "ShortTensor": torch.int16,
    "CharTensor": torch.int8, "ByteTensor": torch.uint8, "BoolTensor": torch.bool,
}  # fmt: skip
"""Tensor types of torch and of `torch.cuda`, and their dtypes."""


def _read_named_move(
    engine: Engine, name: str, info: Info, rest: list[Any], kwargs: Kwargs
) -> tuple[str, Kwargs]:
    """Return the device and dtype of `x.cuda(1)`, `x.cpu()` or `x.pin_memory()`."""
    cast = {k: v for k, v in kwargs.items() if k == "memory_format"}
    if name == "pin_memory":
        return info.meta.device, cast
    asked = kwargs.get("device", rest[0] if rest else None)
    return resolve_device(engine, name if asked is None else asked), cast


def _claim_anew(
    engine: Engine, func: Any, target: Tensor, info: Info, device: str, rest: Args
) -> Tensor:
    """Return a sparse or nested tensor that claims another device."""
    grad = torch.is_grad_enabled() and info.meta.requires_grad
    out = target.clone() if grad else target.detach()
    meta = make_opaque_meta(out, device, info.meta.layout)
    name = "ToCopyBackward0" if grad else None
    moved = Info(meta, Storage(device), BLANK, name)
    engine.tell(out, moved)
    plain = nests.to_plain(rest, lambda tensor: engine.info(tensor).meta)
    answer = Answer(func, ((info.meta, *plain), {}), NEW, (meta,), (name,))
    engine.record(answer, (info,), (moved,))
    return out


def _record_same(
    engine: Engine, func: Any, target: Tensor, info: Info, rest: Args
) -> Tensor:
    plain = nests.to_plain(rest, lambda t: engine.info(t).meta)
    arguments: Any = ((info.meta, *plain), {})
    answer = Answer(func, arguments, SAME, (info.meta,), (info.grad_fn,))
    engine.record(answer, (info,), (info,))
    return target


def _read_to(
    engine: Engine, rest: list[Any], kwargs: Kwargs
) -> tuple[str | None, Kwargs]:
    """Return the device and dtype that a call of `to` requests, in any form."""
    device = kwargs.pop("device", None)
    other = kwargs.pop("other", kwargs.pop("tensor", None))
    kwargs.pop("non_blocking", None)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and not isinstance(rest[0], torch.dtype | bool):
        device = rest.pop(0)
    if rest and isinstance(rest[0], torch.dtype):
        kwargs["dtype"] = rest.pop(0)
    elif rest and rest[0] is None:
        rest.pop(0)
    if len(rest) > 1:  # non_blocking, copy
        kwargs["copy"] = rest[1]
    if other is not None:
        kwargs["dtype"] = other.dtype
        device = engine.info(other).meta.device
    cast = {k: v for k, v in kwargs.items() if v is not None and v is not False}
    return (resolve_device(engine, device) if device is not None else None), cast


def _copy_to_device(
    engine: Engine,
    func: Any,
    target: Tensor,
    info: Info,
    cast: Kwargs,
    device: str,
    rest: Args,
) -> Tensor:
    """Return a copy that claims another device."""
    grad = torch.is_grad_enabled() and info.meta.requires_grad
    known = info.storage.known and not (engine.graph and grad)  # values have no graph
    physical = engine.value_of(target) if known else engine.blank_of(target)
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
    plain = nests.to_plain((rest, cast), lambda t: engine.info(t).meta)
    answer = Answer(func, ((info.meta, *plain[0]), plain[1]), NEW, (meta,), (name,))
    engine.record(answer, (info,), (new,))
    return out
