"""A call on a person's own tensors, drawn: it runs on copies and changes nothing.

Where values cannot be had (meta tensors)
or are too many, the call runs on meta tensors and only shapes are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from shapewright.capture.identity import DTYPE_NAMES
from shapewright.capture.lab.beside import draw_with
from shapewright.capture.lab.copying import Copies, spans
from shapewright.capture.lab.drawing import (
    RUNNABLE,
    TOO_LARGE,
    MetaOf,
    arguments_of,
    tensors_in,
    tensors_of,
)
from shapewright.capture.lab.operators import function_of, known_names
from shapewright.capture.names import display_name
from shapewright.rules.maps.all import MAPS
from shapewright.rules.maps.drawn import Drawn, Side
from shapewright.trace.fact import SHORT

Tensor = torch.Tensor


def explain_tensors(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Drawn:
    """Draw the call `func(*args, **kwargs)`.

    Raises `TypeError` where `func` is not an operator of torch.
    """
    func, args = unbound(func, args)
    name = name_of(func)
    text = written(name, args, kwargs)
    given = list(tensors_of((*args, *kwargs.values())))
    for said in map(unreadable, given):
        if said:
            return Drawn(text, name, sides(name, args, kwargs), reason=said)
    said = next((said for said in map(blank, given) if said), "")
    if not said and sum(high - low for low, high in spans(given).values()) > 4 * (
        RUNNABLE
    ):
        said = TOO_LARGE
    if said:
        return on_meta(func, name, args, kwargs, said)
    copies = Copies(spans(given))
    devices = sorted({tensor.get_device() for tensor in given if tensor.is_cuda})
    with torch.random.fork_rng(devices):
        drawn = draw_with(func, name, copies.of(args), copies.of(kwargs), text)
    originals = dict(tensors_in(arguments_of(name, args, kwargs)))
    return where_they_are(drawn, originals)


# -- names -----------------------------------------------------------------------------


def unbound(
    func: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`x.transpose` as `torch.Tensor.transpose` with `x` before its arguments."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Tensor):
        return getattr(Tensor, func.__name__), (owner, *args)
    return func, args


def name_of(func: Callable[..., Any]) -> str:
    """The dotted name of an operator of torch."""
    names = [*sorted(MAPS), *sorted(known_names())]  # one that can be drawn, first
    for name in names if callable(func) else ():
        if function_of(name) is func:
            return name
    module = getattr(func, "__module__", None) or "torch"
    ours = isinstance(func, torch._ops.OpOverload | torch._ops.OpOverloadPacket)
    plain = not isinstance(func, type | torch.nn.Module) and callable(func)
    if not ours and not (plain and module.partition(".")[0] == "torch"):
        shown = getattr(func, "__name__", None) or type(func).__name__
        raise TypeError(
            f"`{shown}` is not an operator of torch; sw.trace shows whole programs"
        )
    shown = display_name(func)
    for short, full in (("F.", "torch.nn.functional."), ("Tensor.", "torch.Tensor.")):
        if shown.startswith(short):
            return full + shown.removeprefix(short)
    return shown


def written(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The call as it is typed for `shapewright explain`."""
    parts = [spelled(value) for value in args]
    parts += [f"{key}={spelled(value)}" for key, value in kwargs.items()]
    if name.startswith("torch.Tensor.") and args:
        return f"{parts[0]}.{name.rpartition('.')[2]}({', '.join(parts[1:])})"
    return f"{name}({', '.join(parts)})"


def spelled(value: Any) -> str:
    """An argument: a tensor by its shape, all else in few characters."""
    if isinstance(value, Tensor):
        dtype = DTYPE_NAMES[value.dtype]
        sizes = "..." if value.is_nested else ", ".join(map(str, value.shape))
        return f"{SHORT.get(dtype, dtype)}[{sizes}]"
    if isinstance(value, list):
        return f"[{', '.join(map(spelled, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(spelled, value))}{',' * (len(value) == 1)})"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# -- what can be read ------------------------------------------------------------------


def unreadable(tensor: Tensor) -> str:
    """Why a tensor is not even run on meta; nothing where it is."""
    if tensor.is_nested:
        return "a nested tensor has no single shape"
    if tensor.layout != torch.strided:
        layout = str(tensor.layout).removeprefix("torch.")
        return f"a tensor of layout {layout} has no strides"
    if tensor.is_quantized:
        return "quantized tensors are not drawn"
    try:
        tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return "a tensor without a storage of its own, as inside `torch.func`"
    return ""


def blank(tensor: Tensor) -> str:
    """Why a tensor has no values; nothing where it has."""
    if tensor.untyped_storage().device.type == "meta":
        return "a meta tensor has no values"
    return ""


# -- the drawing -----------------------------------------------------------------------


def where_they_are(drawn: Drawn, originals: dict[str, Tensor]) -> Drawn:
    """The drawing with storage offsets of the originals: copies begin at the first."""
    moved: dict[str, int] = {}
    inputs = []
    for side in drawn.inputs:
        tensor = originals[side.name]
        offset = int(tensor.storage_offset())
        moved[side.name] = (offset - side.offset) * tensor.element_size()
        inputs.append(replace(side, offset=offset))
    outputs = []
    for side in drawn.outputs:
        size = getattr(torch, side.dtype).itemsize
        shift = moved[side.shares] // size if side.shares else 0
        outputs.append(replace(side, offset=side.offset + shift))
    return replace(drawn, inputs=tuple(inputs), outputs=tuple(outputs))


# -- shapes only -----------------------------------------------------------------------


def sides(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Side, ...]:
    """The tensors of a call by their shapes."""
    return tuple(
        shape_only(key, tensor)
        for key, tensor in tensors_in(arguments_of(name, args, kwargs))
    )


def shape_only(name: str, tensor: Tensor) -> Side:
    """A tensor without its values, and without strides where it has none."""
    dtype = DTYPE_NAMES[tensor.dtype]
    if tensor.is_nested:
        return Side(name, (), f"{dtype}, nested")
    if tensor.layout != torch.strided:
        return Side(name, tuple(tensor.shape), dtype)
    meta, offset = MetaOf.of(tensor), int(tensor.storage_offset())
    return Side(name, meta.shape, meta.dtype, meta.stride, offset)


def on_meta(
    func: Callable[..., Any], name: str, args: Any, kwargs: Any, said: str
) -> Drawn:
    """The call on meta tensors of the same shapes."""

    def without(value: Any) -> Any:
        if isinstance(value, Tensor):
            shape, stride = value.shape, value.stride()
            return torch.empty_strided(shape, stride, dtype=value.dtype, device="meta")
        if type(value) in (tuple, list):
            return type(value)([without(item) for item in value])
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items()}
        return value

    text, before = written(name, args, kwargs), sides(name, args, kwargs)
    try:
        with torch.no_grad(), torch.device("meta"):
            made = func(*without(args), **without(kwargs))
    except NotImplementedError:
        return Drawn(text, name, before, reason=said)
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return Drawn(text, name, before, reason=said, error=first)
    outs = list(tensors_of(made))
    names = ["out"] if len(outs) == 1 else [f"out.{n}" for n in range(len(outs))]
    after = tuple(shape_only(*pair) for pair in zip(names, outs, strict=True))
    return Drawn(text, name, before, after, reason=said)
