"""Drawings of the user's own tensors: calls on copies of them, and their storage.

Where values cannot be had (meta tensors) or are too many, the call runs on meta tensors
and only shapes are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import torch

from shapewright.engine.function_names import get_display_name
from shapewright.engine.identity import DTYPE_NAMES, DTYPES
from shapewright.index_maps.drawn_calls import Drawn, Side, Stored
from shapewright.index_maps.index_map import MAPS
from shapewright.record.ops import SHORT
from shapewright.runtime.operator_calls.call_context import (
    Copies,
    draw_with,
    find_spans,
)
from shapewright.runtime.operator_calls.drawing import (
    RUNNABLE,
    TOO_LARGE,
    MetaOf,
    draw_side,
    iter_named_tensors,
    iter_tensors,
    make_typed_tensor,
    name_arguments,
)
from shapewright.runtime.operator_calls.operator_names import (
    find_function,
    get_known_names,
)
from shapewright.runtime.operator_calls.refused_calls import explain_refusal

Tensor = torch.Tensor


def explain_tensors(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Drawn:
    """Draw the call `func(*args, **kwargs)`.

    Raises `TypeError` if `func` is not an operator of torch.
    """
    func, args = _unbind_method(func, args)
    name = get_operator_name(func)
    text = format_call(name, args, kwargs)
    tensors = list(iter_tensors((*args, *kwargs.values())))
    for reason in map(_explain_unreadable, tensors):
        if reason:
            return Drawn(text, name, _draw_sides(name, args, kwargs), reason=reason)
    reason = next((reason for reason in map(_explain_blank, tensors) if reason), "")
    if not reason and sum(
        high - low for low, high in find_spans(tensors).values()
    ) > 4 * (RUNNABLE):
        reason = TOO_LARGE
    if reason:
        return run_on_meta(func, name, args, kwargs, reason)
    copies = Copies(find_spans(tensors))
    devices = sorted({tensor.get_device() for tensor in tensors if tensor.is_cuda})
    with torch.random.fork_rng(devices):
        drawn = draw_with(func, name, copies.of(args), copies.of(kwargs), text)
    originals = dict(iter_named_tensors(name_arguments(name, args, kwargs)))
    return add_offsets(drawn, originals)


# -- names -----------------------------------------------------------------------------


def _unbind_method(
    func: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Unbind a method like `x.transpose`, and make `x` the first argument."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Tensor):
        return getattr(Tensor, func.__name__), (owner, *args)
    return func, args


def get_operator_name(func: Callable[..., Any]) -> str:
    """Return the dotted name of a torch operator."""
    names = [*sorted(MAPS), *sorted(get_known_names())]  # one that can be drawn, first
    for name in names if callable(func) else ():
        if find_function(name) is func:
            return name
    module = getattr(func, "__module__", None) or "torch"
    ours = isinstance(func, torch._ops.OpOverload | torch._ops.OpOverloadPacket)
    plain = not isinstance(func, type | torch.nn.Module) and callable(func)
    if not ours and not (plain and module.partition(".")[0] == "torch"):
        shown = getattr(func, "__name__", None) or type(func).__name__
        raise TypeError(
            f"`{shown}` is not an operator of torch; sw.trace shows whole programs"
        )
    shown = get_display_name(func)
    for short, full in (("F.", "torch.nn.functional."), ("Tensor.", "torch.Tensor.")):
        if shown.startswith(short):
            return full + shown.removeprefix(short)
    return shown


def format_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the call as it is typed for `shapewright explain`."""
    parts = [_format_argument(value) for value in args]
    parts += [f"{key}={_format_argument(value)}" for key, value in kwargs.items()]
    if name.startswith("torch.Tensor.") and args:
        return f"{parts[0]}.{name.rpartition('.')[2]}({', '.join(parts[1:])})"
    return f"{name}({', '.join(parts)})"


def _format_argument(value: Any) -> str:
    """Format an argument as text: a tensor by its dtype and shape, others truncated."""
    if isinstance(value, Tensor):
        dtype = DTYPE_NAMES[value.dtype]
        sizes = "..." if value.is_nested else ", ".join(map(str, value.shape))
        return f"{SHORT.get(dtype, dtype)}[{sizes}]"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_argument, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_argument, value))}{',' * (len(value) == 1)})"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# -- what can be read ------------------------------------------------------------------


def _explain_unreadable(tensor: Tensor) -> str:
    """Return why a tensor cannot be used even on `meta`, or an empty string."""
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


def _explain_blank(tensor: Tensor) -> str:
    """Return why a tensor has no values, or an empty string if it has values."""
    if tensor.untyped_storage().device.type == "meta":
        return "a meta tensor has no values"
    return ""


# -- the drawing -----------------------------------------------------------------------


def add_offsets(drawn: Drawn, originals: dict[str, Tensor]) -> Drawn:
    """Return a drawing of copies with the storage offsets of the original tensors."""
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


def _draw_sides(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Side, ...]:
    """Return the tensors among the arguments of a call, by shape only."""
    return tuple(
        _remove_values(key, tensor)
        for key, tensor in iter_named_tensors(name_arguments(name, args, kwargs))
    )


def _remove_values(name: str, tensor: Tensor) -> Side:
    """Return a tensor as a side of a drawing without values."""
    dtype = DTYPE_NAMES[tensor.dtype]
    if tensor.is_nested:
        return Side(name, (), f"{dtype}, nested")
    if tensor.layout != torch.strided:
        return Side(name, tuple(tensor.shape), dtype)
    meta, offset = MetaOf.of(tensor), int(tensor.storage_offset())
    return Side(name, meta.shape, meta.dtype, meta.stride, offset)


def run_on_meta(
    func: Callable[..., Any], name: str, args: Any, kwargs: Any, reason: str
) -> Drawn:
    """Run the call on meta tensors of the same shapes."""

    def without(value: Any) -> Any:
        if isinstance(value, Tensor):
            shape, stride = value.shape, value.stride()
            return torch.empty_strided(shape, stride, dtype=value.dtype, device="meta")
        if type(value) in (tuple, list):
            return type(value)([without(item) for item in value])
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items()}
        return value

    text, before = format_call(name, args, kwargs), _draw_sides(name, args, kwargs)
    try:
        with torch.no_grad(), torch.device("meta"):
            output = func(*without(args), **without(kwargs))
    except NotImplementedError:
        return Drawn(text, name, before, reason=reason)
    except Exception as error:  # what torch refuses is drawn
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        refused = Drawn(text, name, before, reason=reason, error=first)
        tensors = dict(iter_named_tensors(name_arguments(name, args, kwargs)))
        return explain_refusal(refused, tensors, args, kwargs)
    outs = list(iter_tensors(output))
    names = ["out"] if len(outs) == 1 else [f"out.{n}" for n in range(len(outs))]
    after = tuple(_remove_values(*pair) for pair in zip(names, outs, strict=True))
    return Drawn(text, name, before, after, reason=reason)


FIRST = 24
"""Cells of a storage that are shown."""
MOST = 1 << 18
"""Elements up to which a tensor is copied, to show a part of its values."""


def describe_stored(tensor: torch.Tensor, name: str = "tensor") -> Stored:
    """Describe a tensor and the storage that it views."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"a tensor is drawn, not {type(tensor).__name__}")
    reason = _explain_unreadable(tensor)
    if reason:
        return Stored(
            _remove_values(name, tensor), reason=reason, notes=_collect_notes(tensor)
        )
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        reason = _explain_blank(tensor)
        size = tensor.element_size()
        storage = tensor.untyped_storage()
        count = storage.nbytes() // size
        cells: tuple[object, ...] = ()
        if not reason:
            first = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            first.set_(storage, 0, (min(FIRST, count),), (1,))
            cells = tuple(first.tolist())
        if not reason and tensor.numel() > MOST:
            reason = f"{tensor.numel():,} elements are too many"
        if reason:
            shown = _remove_values(name, tensor)
        else:
            shown = draw_side(name, tensor, shown=tensor.detach().clone())
    base = tensor._base
    shape = None if base is None else tuple(base.shape)
    version = None if tensor.is_inference() else int(tensor._version)
    return Stored(
        shown, count, cells, size, shape, version, reason, _collect_notes(tensor)
    )


def describe_typed(
    shape: tuple[int, ...],
    dtype: str,
    letters: tuple[str | None, ...] = (),
    chosen: Mapping[str, int] = MappingProxyType({}),
) -> Stored:
    """Describe a tensor that was only typed, with made-up values unless too large."""
    stored = _describe_made_up(shape, dtype)
    lettered = replace(stored.side, letters=letters if any(letters) else ())
    return replace(
        stored, side=lettered, notes=(*stored.notes, *describe_chosen(chosen))
    )


def describe_chosen(chosen: Mapping[str, int]) -> list[str]:
    """Return a note on the sizes that were chosen, if any were."""
    sizes = ", ".join(f"{name} = {size}" for name, size in chosen.items())
    return [f"chosen, because the call does not state them: {sizes}"] if sizes else []


def _describe_made_up(shape: tuple[int, ...], dtype: str) -> Stored:
    """Describe a made-up tensor, without letters."""
    count = 1
    for size in shape:
        count *= size
    if count > RUNNABLE:
        empty = describe_stored(torch.empty(shape, dtype=DTYPES[dtype], device="meta"))
        reason = f"{count:,} elements are too many"
        return replace(
            empty, base=None, version=None, reason=reason, notes=_describe_leaf(dtype)
        )
    stored = describe_stored(make_typed_tensor(shape, dtype, 1, 10))
    return replace(stored, base=None, version=None, notes=_describe_leaf(dtype))


def _describe_leaf(dtype: str) -> tuple[str, ...]:
    """Return a note on the gradient of a new leaf tensor with a dtype."""
    kind = DTYPES[dtype]
    if not (kind.is_floating_point or kind.is_complex):
        return (f"a leaf; {dtype} cannot require a gradient",)
    return ("a leaf: with requires_grad=True backward fills its .grad",)


def _collect_notes(tensor: torch.Tensor) -> tuple[str, ...]:
    """Return notes on a tensor's device, gradient, and lazy conjugation or negation."""
    notes = []
    if tensor.device.type != "cpu":
        notes.append(f"on {tensor.device}")
    notes += _describe_gradient(tensor)
    if tensor.is_conj():
        notes.append("conjugated when it is read: the storage holds the conjugates")
    if tensor.is_neg():
        notes.append("negated when it is read: the storage holds the negatives")
    return tuple(notes)


def _describe_gradient(tensor: torch.Tensor) -> list[str]:
    """Return a note on whether a tensor is a leaf and whether it gets a gradient."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        name = str(tensor.dtype).removeprefix("torch.")
        return [f"a leaf; {name} cannot require a gradient"]
    if not tensor.requires_grad:
        return ["a leaf; requires_grad is False: backward leaves .grad None"]
    if tensor.is_leaf:
        return [
            f"requires grad, a leaf: backward fills .grad, {_describe_grad(tensor)}"
        ]
    node_name = type(tensor.grad_fn).__name__
    if not tensor.retains_grad:
        kept = ".grad stays None unless retain_grad() is called"
    else:
        kept = (
            f"retain_grad() was called: backward fills .grad, {_describe_grad(tensor)}"
        )
    return [f"requires grad, made by {node_name}: not a leaf, {kept}"]


def _describe_grad(tensor: torch.Tensor) -> str:
    """Describe the current `.grad` of a tensor."""
    grad = tensor.grad
    return "now None" if grad is None else f"now {tuple(grad.shape)}"
