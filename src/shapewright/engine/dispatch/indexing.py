"""Indexing: a view for slices, a gather for tensors, unknown rows for a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import Parameter

from shapewright.engine import nests
from shapewright.engine.devices import check_devices
from shapewright.engine.dispatch import index_bounds, memory_overlap, torch_answers
from shapewright.engine.dispatch.ordinary_calls import call_op
from shapewright.engine.dispatch.view_operators import (
    _can_compute,
    answer_general_view,
    answer_plain_view,
    answer_slow_view,
)
from shapewright.engine.identity import VALUED, Info, Storage, intern_meta
from shapewright.engine.values import known_values, unknown_lengths
from shapewright.operators.metadata_rules import SCALAR_TYPE

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
BASIC_INDEX = frozenset({int, slice, type(None), type(...)})


def answer_index(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `x[...]`: a view for slices, a gather for tensors or a mask."""
    target, where = args
    items = where if type(where) is tuple else (where,)
    hashed = []
    for item in items:
        kind = type(item)
        if kind is slice:
            hashed.append((item.start, item.stop, item.step))
        elif kind in BASIC_INDEX:
            hashed.append(item)
        else:
            return _answer_advanced(engine, func, target, where)
    if type(target) is not Tensor and type(target) is not Parameter:
        return answer_general_view(engine, func, args, {})
    info: Info = getattr(target, "_sw", None) or engine.info(target)
    return answer_plain_view(engine, func, target, info, (where,), tuple(hashed))


def _answer_advanced(engine: Engine, func: Any, target: Any, where: Any) -> Any:
    """Answer indexing by tensors, lists or NumPy values."""
    from shapewright.engine.values.reads import find_mask_rows

    where = unknown_lengths.replace_slice_bounds(engine, where)
    items = where if type(where) is tuple else (where,)
    infos = [engine.info(value) for value in nests.collect_tensors((target, where))]
    if _can_compute(engine, infos):
        done = known_values.compute_known(engine, func, (target, where), {}, infos)
        if done is not known_values.TOO_LARGE:
            return done
    index_bounds.check_masks(engine, target, where)
    changed = []
    for item in items:
        if isinstance(item, Tensor) and item.dtype in (torch.bool, torch.uint8):
            changed += find_mask_rows(engine, item)
        elif isinstance(item, Tensor) and item.dim() == 0:
            changed.append(_convert_scalar(engine, item))
        elif type(item) is list and all(type(number) is int for number in item):
            changed.append(_convert_list(engine, item, target))
        else:
            changed.append(item)
    index_ = (
        tuple(changed) if isinstance(where, tuple) or len(changed) != 1 else changed[0]
    )
    if not nests.collect_tensors(index_):
        return answer_slow_view(engine, func, (target, index_), {})
    return call_op(engine, func, (target, index_), None)


def _convert_list(engine: Engine, numbers: list[int], target: Tensor) -> Tensor:
    """Convert a list of numbers to the index tensor that torch would create."""
    index = torch.tensor(numbers, dtype=torch.int64, device="cpu")
    device = engine.info(target).meta.device
    meta = intern_meta(engine.memo.metas, index, device, False)
    return engine.tell(index, Info(meta, Storage(device, known=True), VALUED))


def _convert_scalar(engine: Engine, item: Tensor) -> Any:
    """Convert a 0-dim integer tensor to a number, as its value affects no shape."""
    info = engine.info(item)
    if info.storage.known:
        return int(engine.value_of(item))
    return 0 if not item.is_floating_point() else item


def _is_number(item: Any) -> bool:
    """Return whether an index is a tensor of one number, and no mask."""
    masks = (torch.bool, torch.uint8)
    return isinstance(item, Tensor) and item.dim() == 0 and item.dtype not in masks


def _check_dtypes(
    engine: Engine, target: Tensor, items: tuple[Any, ...], value: Any
) -> None:
    """Raise torch's error for values of another dtype that are written by indices,
    which its data-free kernel casts. By a mask alone, one value is cast.
    """
    if not isinstance(value, Tensor) or value.dtype == target.dtype:
        return
    indices = [item for item in items if isinstance(item, Tensor | list)]
    masks = [
        item
        for item in indices
        if isinstance(item, Tensor) and item.dtype in (torch.bool, torch.uint8)
    ]
    if not indices or (len(masks) == len(indices) and value.numel() == 1):
        return
    dtypes = (str(x.dtype).removeprefix("torch.") for x in (target, value))
    names = (SCALAR_TYPE.get(dtype, dtype) for dtype in dtypes)
    message = (
        "Index put requires the source and destination dtypes match, got {} for the"
        " destination and {} for the source."
    )
    engine.raise_theirs(RuntimeError(message.format(*names)))


def set_index(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `x[...] = y`, a write; the values of x become unknown if y's are."""
    from shapewright.engine.values.reads import find_mask_rows

    target, where, value = args
    where = unknown_lengths.replace_slice_bounds(engine, where)
    args = (target, where, value)
    infos = [engine.info(tensor) for tensor in nests.collect_tensors(args)]
    if isinstance(value, Tensor) and nests.collect_tensors(where):
        # without a tensor among the indices it is a copy, from any device
        check_devices(engine, "[]=", infos)
    if _can_compute(engine, infos):
        return known_values.compute_known(engine, func, args, {}, infos)
    items = tuple(
        _convert_scalar(engine, item) if _is_number(item) else item
        for item in (where if type(where) is tuple else (where,))
    )
    where = items if type(where) is tuple else items[0]
    memory_overlap.check_item_assignment(engine, func, (target, where, value), infos)
    index_bounds.check_masks(engine, target, where)
    _check_dtypes(engine, target, items, value)
    changed: list[Any] = []
    for item in items:
        if isinstance(item, Tensor) and item.dtype in (torch.bool, torch.uint8):
            masked = engine.info(item)
            if (not masked.storage.known and not isinstance(value, Tensor)) or (
                not masked.storage.known and value.dim() == 0
            ):
                rows = find_mask_rows(engine, item, quiet=True)
            else:
                rows = find_mask_rows(engine, item)
            changed += rows
        else:
            changed.append(item)
    where = (
        tuple(changed) if isinstance(where, tuple) or len(changed) != 1 else changed[0]
    )
    index_bounds.check_indices(engine, func, (target, where), None)
    return torch_answers.ask_torch(
        engine, func, "__setitem__", (target, where, value), {},
        [engine.info(x) for x in nests.collect_tensors((target, where, value))], None,
    )  # fmt: skip
