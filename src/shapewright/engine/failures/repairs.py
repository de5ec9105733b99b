"""Search, by trial, for a single change with which torch accepts a call.

Works for every operator, also for those of which no need is written down: a dim that
fits with another size, an order of dims, a dtype, a dim more or less.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch.nn.parameter import Parameter
from torch.nn.utils.rnn import PackedSequence

from shapewright.engine import autocast, nests
from shapewright.engine.dispatch.index_bounds import PACKED
from shapewright.engine.failures.trials import (
    FAILED,
    copy_tensors,
    make_fresh,
    replace_tensors,
    try_call,
)
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import Info
from shapewright.engine.memo import Search
from shapewright.engine.private import any_autocast
from shapewright.operators.failed_calls import Kind, Repair

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

TRIES = 400
"""Tries per call: a count, so that a slow machine finds the same."""
MOST = 16
"""Largest number of repairs that are kept."""
FIRST = frozenset(get_args(Kind)) - {"flatten", "permute", "argument"}
"""Changes that a run goes on with, where there is one of them."""
LARGEST = 1 << 20
"""A whole number above it is no size of a tensor that is meant."""


def find_repairs(
    engine: Engine,
    plan: Any,
    func: Any,
    args: Any,
    kwargs: Any,
    more: tuple[int, ...] = (),
    quick: bool = False,
) -> Iterator[tuple[Repair, Any]]:
    """Return each change with which torch accepts the call, and the result it gives.

    The user's tensors come before parameters, which say what is wanted. `more` are
    numbers that may be sizes, as a layer's settings are. `quick` looks only for
    changes that the run can go on with.
    """
    call_tensors = nests.collect_tensors((args, kwargs))
    infos = [engine.info(tensor) for tensor in call_tensors]
    if any(info.meta.layout != "strided" for info in infos) or _is_unchecked(
        func, args
    ):
        return
    declared = [isinstance(tensor, Parameter) for tensor in call_tensors]
    numbers = [*_find_whole_numbers((args, list(kwargs.values()))), *more]
    search = _recall_search(engine, func, args, kwargs, quick)
    known = list(search.accepted) if search.is_over else None
    accepted = tries = 0
    candidates = _iter_candidates(infos, declared, numbers)
    for repair in candidates if known is None else known:
        if quick and repair.kind not in FIRST:
            continue
        tries += 1
        if accepted == MOST or tries > TRIES:
            break
        if repair in search.refused:
            continue
        tensors = copy_tensors(engine, args, kwargs)
        tensors[repair.tensor] = _apply_repair(engine, infos[repair.tensor], repair)
        out = try_call(engine, plan, func, *replace_tensors(args, kwargs, tensors))
        if out is FAILED and known is None:
            search.refused.add(repair)
        elif out is not FAILED:
            accepted += 1
            if known is None:
                search.accepted.append(repair)
            yield repair, out
    search.is_over = True


def _recall_search(
    engine: Engine, func: Any, args: Any, kwargs: Any, quick: bool
) -> Search:
    """Return the search of changes for a call with the same operands, but for their
    values: a call that a loop repeats fails in each turn.
    """
    key: list[Any] = [func, torch.is_grad_enabled(), torch.get_default_dtype(), quick]
    nests.append_key(engine, (args, kwargs), key, [])
    if isinstance(func, type):
        return Search()  # which depends on the settings of a layer
    key.append(autocast.get_autocast_state() if any_autocast() else None)
    try:
        return engine.memo.searches.setdefault(tuple(key), Search())
    except TypeError:
        return Search()


def _is_unchecked(func: Any, args: Any) -> bool:
    """Return whether torch reads memory by given sizes that it does not verify."""
    packed = any(isinstance(argument, PackedSequence) for argument in args)
    return packed or (not isinstance(func, type) and get_plain_name(func) in PACKED)


def _iter_candidates(
    infos: list[Info], declared: list[bool], numbers: list[int]
) -> Iterator[Repair]:
    """Yield the changes that are worth trying, the likeliest first."""
    order = sorted(range(len(infos)), key=lambda n: declared[n])
    for n in order:
        if infos[n].storage.known and _is_whole(infos[n]):
            yield Repair("values", n, parameter=declared[n])
    for n in order:
        yield from _iter_dtypes(n, infos, declared[n])
    for n in order:
        meta = infos[n].meta
        if not declared[n] and len(meta.shape) > 1:
            yield Repair("contiguous", n)
    for n in order:
        if not declared[n]:
            yield from _iter_orders(n, infos[n].meta.shape)
    for n in order:
        yield from _iter_sizes(n, infos, declared[n], numbers)
    for n in order:
        if not declared[n]:
            yield from _iter_ranks(n, infos[n].meta.shape)
    most = max((len(info.meta.shape) for info in infos), default=0)
    for n in order:
        if not declared[n] and 0 < len(infos[n].meta.shape) <= most - 2:
            yield from _iter_added_pairs(n, len(infos[n].meta.shape))
    for n in order:
        if declared[n] and len(infos[n].meta.shape) == 2:
            yield from _iter_orders(n, infos[n].meta.shape)


def _is_whole(info: Info) -> bool:
    """Return whether a tensor holds integers, which may be indices."""
    return info.meta.dtype.startswith(("int", "uint"))


def _iter_dtypes(n: int, infos: list[Info], declared: bool) -> Iterator[Repair]:
    """Yield repairs with the dtype of another tensor or a widely accepted dtype."""
    own = infos[n].meta.dtype
    others = [info.meta.dtype for info in infos]
    for dtype in dict.fromkeys([*others, "float32", "int64"]):
        if dtype != own:
            yield Repair("dtype", n, None, own, dtype, parameter=declared)


def _iter_orders(n: int, shape: tuple[int, ...]) -> Iterator[Repair]:
    """Yield repairs that swap two dims or move the channels to or from the end."""
    rank = len(shape)
    orders = []
    for dim, other_dim in combinations(range(rank), 2):
        if shape[dim] != shape[other_dim]:
            order = list(range(rank))
            order[dim], order[other_dim] = other_dim, dim
            orders.append(tuple(order))
    if rank in (3, 4, 5):
        orders.append((0, rank - 1, *range(1, rank - 1)))
        orders.append((0, *range(2, rank), 1))
    if rank == 3:
        orders.append((2, 0, 1))
    for new_order in dict.fromkeys(orders):
        yield Repair("permute", n, None, tuple(range(rank)), new_order)


def _iter_sizes(
    n: int, infos: list[Info], declared: bool, numbers: list[int]
) -> Iterator[Repair]:
    """Yield repairs that change a size to one of the call or to a common one."""
    shape = infos[n].meta.shape
    others = [s for m, info in enumerate(infos) if m != n for s in info.meta.shape]
    near = [number for number in numbers if 0 < number <= LARGEST]
    products = [s * k for s in dict.fromkeys(others) for k in near if 1 < k <= 64]
    wanted = dict.fromkeys([*others, *near, *products, 1, *shape, 2, 4, 8, 16, 32, 64])
    for dim in reversed(range(len(shape))):
        for size in wanted:
            if size != shape[dim]:
                yield Repair("size", n, dim, shape[dim], size, parameter=declared)


def _iter_ranks(n: int, shape: tuple[int, ...]) -> Iterator[Repair]:
    """Yield repairs that add or remove a dim."""
    for dim, size in enumerate(shape):
        if size == 1:
            yield Repair("squeeze", n, dim)
    for dim in range(len(shape) + 1):
        yield Repair("unsqueeze", n, dim)
    for dim in range(len(shape) - 1):
        yield Repair("flatten", n, dim)


def _iter_added_pairs(n: int, rank: int) -> Iterator[Repair]:
    """Yield repairs that add two dims, as in `mask[:, None, None]`, at `new`."""
    for dim, other_dim in combinations(range(rank + 2), 2):
        yield Repair("unsqueeze", n, dim, None, (dim, other_dim))


def _apply_repair(engine: Engine, info: Info, repair: Repair) -> Any:
    """Return the tensor as a repair changes it."""
    meta = info.meta
    shape = meta.shape
    dim = repair.dim or 0
    if repair.kind in ("values", "contiguous"):
        return make_fresh(engine, info, shape)
    if repair.kind == "dtype":
        return make_fresh(engine, info, dtype=repair.new)
    if repair.kind == "permute":
        stride = tuple(meta.stride[at] for at in repair.new)
        return make_fresh(engine, info, tuple(shape[at] for at in repair.new), stride)
    if repair.kind == "size":
        return make_fresh(engine, info, (*shape[:dim], repair.new, *shape[dim + 1 :]))
    if repair.kind == "squeeze":
        return make_fresh(engine, info, (*shape[:dim], *shape[dim + 1 :]))
    if repair.kind == "unsqueeze" and repair.new is not None:
        sizes = list(shape)
        for place in repair.new:
            sizes.insert(place, 1)
        return make_fresh(engine, info, tuple(sizes))
    if repair.kind == "unsqueeze":
        return make_fresh(engine, info, (*shape[:dim], 1, *shape[dim:]))
    count = 1
    for size in shape[dim:]:
        count *= size
    return make_fresh(engine, info, (*shape[:dim], count))


def _find_whole_numbers(nest: Any) -> Iterator[int]:
    """Return the integers among the arguments."""
    if type(nest) is int:
        yield nest
    elif isinstance(nest, tuple | list):
        for item in nest:
            yield from _find_whole_numbers(item)
