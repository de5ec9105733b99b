"""A call tried again with arguments as its needs say that they would have fitted."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils.rnn import PackedSequence

from shapewright.engine import nests
from shapewright.engine.dispatch.results import is_in_place
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import (
    BLANK,
    DTYPES,
    VALUED,
    Info,
    Meta,
    Storage,
    compute_contiguous_stride,
    intern_meta,
)
from shapewright.engine.values.data_values import PICKED
from shapewright.findings.faults import raise_in_tests
from shapewright.operators.failed_calls import Grant, Repair, Unmet
from shapewright.operators.metadata_rules import Made
from shapewright.operators.needs_registry import Needs, unmet

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Tensor = torch.Tensor
FAILED = object()
"""The result of a try that torch refuses."""


def try_call(engine: Engine, plan: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Return the result of the call, or `FAILED`."""
    with engine.undo_records(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a call that the program does not make
        try:
            if _is_writing(func, kwargs):
                with torch.no_grad():  # the copies are leaves
                    return plan(engine, func, args, kwargs)
            return plan(engine, func, args, kwargs)
        except Exception:  # torch refuses the changed call
            return FAILED


def _is_writing(func: Any, kwargs: Any) -> bool:
    """Return whether a call writes to its first tensor."""
    return not isinstance(func, type) and is_in_place(get_plain_name(func), kwargs)


def make_fresh(
    engine: Engine,
    info: Info,
    shape: tuple[int, ...] | None = None,
    stride: tuple[int, ...] | None = None,
    dtype: str | None = None,
) -> Tensor:
    """Return a new tensor like the given one, with the requested changes."""
    meta = info.meta
    if shape is None:
        shape, stride = meta.shape, stride or meta.stride
    kind = DTYPES[dtype] if dtype else meta.torch_dtype
    grad = meta.requires_grad and (kind.is_floating_point or kind.is_complex)
    with torch._C.DisableTorchFunction(), torch.no_grad():
        tensor = torch.empty_strided(
            shape, stride or compute_contiguous_stride(shape), dtype=kind, device="meta"
        )
        tensor.requires_grad_(grad)
    known = intern_meta(engine.memo.metas, tensor, meta.device, grad)
    return engine.tell(tensor, Info(known, Storage(meta.device), BLANK, info.grad_fn))


def copy_tensors(engine: Engine, args: Any, kwargs: Any) -> list[Tensor]:
    """Return a copy of each tensor of a call; small known ones keep their values."""
    copies = []
    for tensor in nests.collect_tensors((args, kwargs)):
        info = engine.info(tensor)
        if info.storage.known and info.kind != BLANK and info.meta.stride:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                copy = engine.value_of(tensor).detach().clone()
            storage = Storage(info.meta.device, known=True)
            meta = intern_meta(engine.memo.metas, copy, info.meta.device, False)
            copies.append(engine.tell(copy, Info(meta, storage, VALUED)))
        else:
            copies.append(make_fresh(engine, info))
    return copies


def replace_tensors(args: Any, kwargs: Any, tensors: list[Tensor]) -> tuple[Any, Any]:
    """Return the arguments with their tensors replaced, in order."""
    replacements = iter(tensors)
    changed = nests.swap_tensors((args, kwargs), lambda tensor: next(replacements))
    return changed  # type: ignore[no-any-return]


MOST = 4
"""Things that do not fit in one call, granted one after the other."""
VALUES = 1 << 14
"""Values of an index that a need looks at."""


class _Known(Meta):
    """The metadata of an integer tensor whose values are known."""

    __slots__ = ("values",)

    def __init__(self, meta: Meta, values: tuple[int, ...]) -> None:
        super().__init__(
            meta.shape,
            meta.stride,
            meta.torch_dtype,
            meta.offset,
            meta.device,
            meta.requires_grad,
            meta.layout,
        )
        self.values = values


def convert_for_needs(engine: Engine, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return the arguments in the form of needs: metadata and known indices."""

    def seen(tensor: torch.Tensor) -> Meta:
        info = engine.info(tensor)
        whole = not (tensor.is_floating_point() or tensor.is_complex())
        sure = info.storage.known and info.storage.assumed in (None, PICKED)
        if not (whole and sure and tensor.numel() <= VALUES):
            return info.meta
        with torch._C.DisableTorchFunction():
            return _Known(info.meta, tuple(engine.value_of(tensor).flatten().tolist()))

    plain = nests.to_plain((args, kwargs), seen)
    return plain  # type: ignore[no-any-return]


def try_granted(
    engine: Engine, plan: Any, func: Any, need: Needs, args: Any, kwargs: Any, no: Unmet
) -> Any:
    """Return the result of the call after granting what it needs, or `FAILED`."""
    for _ in range(MOST):
        if not no.grants:
            return FAILED
        args, kwargs = replace_tensors(args, kwargs, copy_tensors(engine, args, kwargs))
        make = partial(_make_like, engine)
        try:
            args, kwargs = with_grants(need, args, kwargs, no.grants, make)
        except Exception as fault:  # ours: the call then counts as refused
            raise_in_tests(fault)
            return FAILED
        out = try_call(engine, plan, func, args, kwargs)
        if out is not FAILED:
            return out
        more = unmet(need, *convert_for_needs(engine, args, kwargs))
        if more is None or more.grants == no.grants:
            return FAILED
        no = more
    return FAILED


def with_grants(
    need: Any,
    args: Any,
    kwargs: Any,
    grants: tuple[Grant, ...],
    make: Callable[[Any, Made], Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the call with granted arguments; `make` creates a granted tensor."""
    for grant in grants:
        name, *path = grant.argument.split(".")
        change = partial(_place_grant, path=path, grant=grant, make=make)
        args, kwargs = _with_argument(need, args, kwargs, name, change)
    return args, kwargs


def _with_argument(
    need: Any, args: Any, kwargs: Any, name: str, change: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the call with one argument changed, named as in the need's signature."""
    parameters = list(inspect.signature(need).parameters.values())
    if name in kwargs:
        return args, {**kwargs, name: change(kwargs[name])}
    place = next(n for n, parameter in enumerate(parameters) if parameter.name == name)
    if parameters[place].kind is inspect.Parameter.VAR_POSITIONAL:
        return (*args[:place], *change(args[place:])), kwargs
    if place < len(args):
        return (*args[:place], change(args[place]), *args[place + 1 :]), kwargs
    return args, {**kwargs, name: change(None)}


def _place_grant(
    old: Any, path: list[str], grant: Grant, make: Callable[[Any, Made], Any]
) -> Any:
    """Return an argument with the granted value at a path in its nested structure."""
    if path:
        place = int(path[0])
        items = list(old)
        items[place] = _place_grant(items[place], path[1:], grant, make)
        if isinstance(old, PackedSequence):
            return PackedSequence(*items)
        return tuple(items) if isinstance(old, tuple) else items
    return make(old, grant.value) if isinstance(grant.value, Made) else grant.value


def _make_like(engine: Engine, old: torch.Tensor, granted: Made) -> torch.Tensor:
    """Return a new tensor with the granted metadata in place of another tensor."""
    return make_fresh(
        engine, engine.info(old), granted.shape, granted.stride, granted.dtype
    )


def as_repairs(
    arguments: tuple[str, ...], infos: tuple[Info, ...], no: Unmet, declared: list[bool]
) -> list[Repair]:
    """Return a repair for each grant that changes one tensor in a single way."""
    repairs = []
    for grant in no.grants:
        if grant.argument not in arguments or not isinstance(grant.value, Made):
            continue
        n = arguments.index(grant.argument)
        repair = _as_repair(n, infos[n], grant.value, declared[n])
        if repair is not None:
            repairs.append(repair)
    return repairs


def _as_repair(n: int, info: Info, granted: Made, declared: bool) -> Repair | None:
    """Return the repair that changes a tensor to the granted one, or None."""
    meta, shape, new_shape = info.meta, info.meta.shape, granted.shape
    if granted.dtype != meta.dtype:
        return Repair("dtype", n, None, meta.dtype, granted.dtype, parameter=declared)
    if shape == new_shape:
        if info.kind == VALUED and info.storage.known:
            return Repair("values", n, parameter=declared)
        if granted.stride is None:
            return Repair("contiguous", n, parameter=declared)
        return None
    if len(shape) == len(new_shape):
        changed = [d for d in range(len(shape)) if shape[d] != new_shape[d]]
        if len(changed) == 1:
            d = changed[0]
            return Repair("size", n, d, shape[d], new_shape[d], parameter=declared)
        order = _find_order(meta.shape, granted)
        if order is not None:
            rank = tuple(range(len(shape)))
            return Repair("permute", n, None, rank, order, parameter=declared)
        return None
    for d in range(len(new_shape)):
        if len(new_shape) < len(shape) and new_shape == (*shape[:d], prod(shape[d:])):
            return Repair("flatten", n, d, parameter=declared)
    for d in range(max(len(shape), len(new_shape))):
        if (
            len(new_shape) == len(shape) + 1
            and new_shape[:d] + new_shape[d + 1 :] == shape
            and new_shape[d] == 1
        ):
            return Repair("unsqueeze", n, d, parameter=declared)
        if (
            len(shape) == len(new_shape) + 1
            and shape[:d] + shape[d + 1 :] == new_shape
            and shape[d] == 1
        ):
            return Repair("squeeze", n, d, parameter=declared)
    return None


def _find_order(shape: tuple[int, ...], granted: Made) -> tuple[int, ...] | None:
    """Return the order of dims that turns one shape of distinct sizes into another."""
    if sorted(shape) != sorted(granted.shape):
        return None
    left = list(range(len(shape)))
    order = []
    for size in granted.shape:
        place = next(d for d in left if shape[d] == size)
        left.remove(place)
        order.append(place)
    return tuple(order)
