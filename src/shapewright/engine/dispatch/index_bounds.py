"""Bounds checks for indices with known values.

torch's data-free kernels read no values: an id beyond the end of a table passes
there. The error messages are those of the CPU's kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine.function_names import get_plain_name
from shapewright.engine.private import is_transformed, suspend_transforms, unwrapped
from shapewright.engine.values.data_values import DRAW, PICKED
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
ALONG = operators_with("indexes_along_dim")
"""Functions that take, after the tensor, a dim and then indices along it."""
NEGATIVE = frozenset({"index_fill", "index_fill_"})
"""Functions whose indices may be negative."""
PACKED = operators_with("is_recurrent")
"""Functions that read as many rows of packed steps as the batch sizes add up to."""
CELL = "lstm_cell"
"""A function that crashes the process if a state does not have two dims."""
SPARSE = "sparse_coo_tensor"
"""A function that leaves it to later calls to read its indices."""
INSIDE = "custom_function_call"
"""What `x[index]` becomes in a mask of FlexAttention, where the index stands for all
positions.
"""
RANGED = ALONG | PACKED | {CELL, SPARSE, INSIDE} | operators_with("has_index_bounds")
_ranged: dict[Any, bool] = {}


def has_index_bounds(func: Any) -> bool:
    """Return whether a function refuses indices by their values."""
    return get_plain_name(func) in RANGED


def check_indices(engine: Engine, func: Any, args: Any, kwargs: Any) -> None:
    """Raise torch's error if a known index is out of range."""
    try:
        ranged = _ranged.get(func)
        if ranged is None:
            ranged = _ranged[func] = get_plain_name(func) in RANGED
    except TypeError:
        return
    if ranged and get_plain_name(func) == INSIDE:
        _read_positions(engine, args)
    elif ranged:
        error = _find_refusal(engine, get_plain_name(func), args, kwargs or {})
        if error is not None:
            engine.raise_theirs(error)


def _find_refusal(
    engine: Engine, name: str, args: Any, kwargs: Any
) -> Exception | None:
    """Return the error for an index out of range, or None if all are in range."""
    if name == CELL:
        return _find_cell_refusal(engine, args)
    if name in PACKED:
        return _find_packed_refusal(engine, args)
    if name == SPARSE:
        return _find_sparse_refusal(engine, args, kwargs)
    for index, size, dim, negative in _iter_indices(engine, name, args, kwargs):
        loss = kwargs if name in ("cross_entropy", "nll_loss") else None
        low, high = _find_extremes(engine, index, loss)
        bad = high if high >= size else low
        if -size * negative <= low and high < size:
            continue
        return _make_error(name, bad, dim, size)
    return None


def _read_positions(engine: Engine, args: Any) -> None:
    """Index a tensor of a mask of FlexAttention by all positions, where some are out of
    range: that is refused as it is outside of a mask.
    """
    if getattr(args[0], "__name__", "") != "ModIndex" or len(args) < 3:
        return
    where: list[Any] = []
    for index in args[2]:
        while is_transformed(index):
            index = unwrapped(index)
        where.append(index)
    shape = _get_shape(engine, args[1])
    for index, size, dim, _ in _iter_item_indices(engine, shape, where):
        low, high = _find_extremes(engine, index, None)
        if low < -size or high >= size:
            place = (*[slice(None)] * dim, index)
            with suspend_transforms():
                read = Tensor.__getitem__
                engine.plan_for(read)(engine, read, (args[1], place), {})


def _find_cell_refusal(engine: Engine, args: Any) -> Exception | None:
    """Return an error if a state is not 2D, because torch would read beyond its end."""
    for state in _list_states(args[1]) if len(args) > 1 else ():
        rank = len(_get_shape(engine, state))
        if rank != 2:
            text = f"Expected the states of lstm_cell to be 2D, got {rank}D tensors"
            return RuntimeError(text)
    return None


def _find_sparse_refusal(engine: Engine, args: Any, kwargs: Any) -> Exception | None:
    """Return torch's error for an entry outside of the size of a sparse tensor."""
    index = args[0] if args else kwargs.get("indices")
    sizes = args[2] if len(args) > 2 else kwargs.get("size")
    if not _is_known(engine, index) or not isinstance(sizes, tuple | list):
        return None
    with torch._C.DisableTorchFunction(), torch.no_grad():
        rows = engine.value_of(index).tolist()
    if index.dim() != 2 or len(rows) > len(sizes) or not index.shape[1]:
        return None
    for dim, (row, size) in enumerate(zip(rows, sizes, strict=False)):
        if type(size) is not int:
            continue
        bad = max(row) if max(row) >= size else min(row)
        if not 0 <= bad < size:
            return RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size} but"
                f" found index {bad}"
            )
    return None


def _find_packed_refusal(engine: Engine, args: Any) -> Exception | None:
    """Return torch's error if the lengths exceed the packed sequence, else None."""
    if not is_packed_call("lstm", args) or not _is_known(engine, args[1]):
        return None
    layers = [_get_shape(engine, state)[:1] for state in _list_states(args[2])]
    if len(set(layers)) > 1:  # torch reads beyond the shorter one
        return RuntimeError("Expected more hidden states in stacked_rnn")
    rows, features = (*_get_shape(engine, args[0]), 0, 0)[:2]
    if _get_shape(engine, args[3][0])[-1:] != (features,):
        return None  # which torch says first
    start = 0
    with torch._C.DisableTorchFunction():
        sizes = engine.value_of(args[1]).tolist()
    for size in sizes:
        if start + size > rows:
            text = f"start ({start}) + length ({size}) exceeds dimension size ({rows})."
            return RuntimeError(text)
        start += size
    return None


def is_packed_call(name: str, args: Any) -> bool:
    """Return whether a kernel gets packed steps: batch sizes second, weights fourth."""
    weights = args[3] if len(args) > 3 else None
    return name in PACKED and isinstance(weights, tuple | list) and bool(weights)


def _list_states(states: Any) -> tuple[Any, ...]:
    """Return the states as a tuple, also if a single state is given."""
    return tuple(states) if isinstance(states, tuple | list) else (states,)


def _iter_indices(
    engine: Engine, name: str, args: Any, kwargs: Any
) -> Iterator[tuple[Tensor, int, int, bool]]:
    """Yield every known index with the size and the number of the dim that it reads."""
    index: Any
    if name == "embedding":
        arguments = dict(zip(("input", "weight"), args, strict=False)) | kwargs
        index = arguments.get("input")
        shape = _get_shape(engine, arguments.get("weight"))
        if _is_known(engine, index) and shape:
            yield index, shape[0], 0, False
    elif name in ALONG:
        arguments = dict(zip(("input", "dim", "index"), args, strict=False)) | kwargs
        index = arguments.get("index")
        dim: Any = arguments.get("dim")
        shape = _get_shape(engine, arguments.get("input"))
        inside = type(dim) is int and -len(shape) <= dim < len(shape)
        if inside and _is_known(engine, index):
            yield index, shape[dim], dim % len(shape), name in NEGATIVE
    elif name in ("__getitem__", "__setitem__"):
        where = args[1] if isinstance(args[1], tuple) else (args[1],)
        yield from _iter_item_indices(engine, _get_shape(engine, args[0]), where)
    elif name.startswith("index_put"):
        yield from _iter_item_indices(engine, _get_shape(engine, args[0]), args[1])
    elif name in ("cross_entropy", "nll_loss"):
        arguments = dict(zip(("input", "target"), args, strict=False)) | kwargs
        shape, target = (
            _get_shape(engine, arguments.get("input")),
            arguments.get("target"),
        )
        if shape and _is_known(engine, target, DRAW):
            yield target, shape[1 if len(shape) > 1 else 0], 0, False


def _iter_item_indices(
    engine: Engine, shape: tuple[int, ...], where: Any
) -> Iterator[tuple[Tensor, int, int, bool]]:
    """Yield the index tensors of `x[...]` with the dims that they index."""
    taken = sum(
        item.dim() if _is_mask(item) else 1
        for item in where
        if item is not None and item is not ...
    )
    at = 0
    for item in where:
        if item is None:
            continue
        if item is ...:
            at += len(shape) - taken
        elif _is_mask(item):
            at += item.dim()
        else:
            if isinstance(item, Tensor) and _is_known(engine, item) and at < len(shape):
                yield item, shape[at], at, True
            at += 1


def check_masks(engine: Engine, target: Tensor, where: Any) -> None:
    """Raise torch's error if the shape of a mask in `x[...]` differs from its dims."""
    items = where if isinstance(where, tuple) else (where,)
    if not any(_is_mask(item) for item in items):
        return
    error = _find_mask_refusal(_get_shape(engine, target), items)
    if error is not None:
        engine.raise_theirs(error)


def _find_mask_refusal(shape: tuple[int, ...], items: Any) -> Exception | None:
    """Return torch's error for a mask that does not fit its dims; None if all fit."""
    plain: list[Any] = []
    places: list[tuple[int, Tensor]] = []
    for item in items:
        if isinstance(item, Tensor) and not (item.dim() == 0 and not _is_mask(item)):
            if _is_mask(item) and item.dim():
                places.append((len(plain), item))
            elif _is_mask(item):
                return None  # a single true or false adds a dim
            plain += [slice(None)] * (item.dim() if _is_mask(item) else 1)
        elif isinstance(item, Tensor):
            plain.append(0)
        elif isinstance(item, list | range) or item is True or item is False:
            return None
        else:
            plain.append(item)
    try:
        with torch._C.DisableTorchFunction():
            left = torch.empty(shape, device="meta")[tuple(plain)].shape
    except (IndexError, TypeError, ValueError, RuntimeError):
        taken = sum(item is not None and item is not ... for item in plain)
        if taken > len(shape):
            text = f"too many indices for tensor of dimension {len(shape)}"
            return IndexError(text)
        return None
    for place, mask in places:
        at = _count_dims_before(plain[:place], plain, len(left))
        for n, size in enumerate(mask.shape):
            if at + n < len(left) and left[at + n] != size:
                return IndexError(
                    f"The shape of the mask {list(mask.shape)} at index {n} does not "
                    f"match the shape of the indexed tensor {list(left)} at index "
                    f"{at + n}"
                )
    return None


def _count_dims_before(before: list[Any], items: list[Any], rank: int) -> int:
    """Count the dims of the result that come from the items before a position."""
    kept = sum(item is None or isinstance(item, slice) for item in before)
    if any(item is ... for item in before):
        own = sum(item is None or isinstance(item, slice) for item in items)
        kept += rank - own
    return kept


def _is_mask(item: Any) -> bool:
    """Return whether an item of `x[...]` is a boolean mask."""
    return isinstance(item, Tensor) and item.dtype in (torch.bool, torch.uint8)


def _get_shape(engine: Engine, value: Any) -> tuple[int, ...]:
    """Return the shape of a tensor, or `()` for any other value."""
    return engine.info(value).meta.shape if isinstance(value, Tensor) else ()


def _is_known(engine: Engine, value: Any, assumed: str | None = None) -> bool:
    """Return whether a tensor holds integers that are known, not assumed but for what
    may be: numbers drawn at random, and rows of known data.
    """
    if not isinstance(value, Tensor) or value.dtype not in WHOLE or not value.numel():
        return False
    storage = engine.info(value).storage
    return storage.known and storage.assumed in (None, PICKED, assumed)


WHOLE = frozenset({torch.int64, torch.int32, torch.int16, torch.int8})


def _find_extremes(engine: Engine, index: Tensor, loss: Any) -> tuple[int, int]:
    """Return the smallest and largest index, without the `ignore_index` of a loss."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        values = engine.value_of(index)
        if loss is not None:
            values = values[values != loss.get("ignore_index", -100)]
            if not values.numel():
                return 0, -1
        return int(values.min()), int(values.max())


def _make_error(name: str, bad: int, dim: int, size: int) -> Exception:
    """Return the error that the CPU's kernel raises."""
    if name in ("embedding", "index_select"):
        return IndexError("index out of range in self")
    if name in ("cross_entropy", "nll_loss"):
        return IndexError(f"Target {bad} is out of bounds.")
    text = f"index {bad} is out of bounds for dimension {dim} with size {size}"
    if name.startswith("index_copy"):
        return IndexError(f"index_copy_(): {text}")
    if "item" in name or name.startswith(("index_put", "index_fill")):
        return IndexError(text)
    return RuntimeError(text)


def check_dim(engine: Engine, args: Any, kwargs: Any) -> None:
    """Raise for a dim out of range, which the meta kernel of `softmax` accepts."""
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    tensor = args[0] if args else kwargs.get("input")
    if type(dim) is not int or not isinstance(tensor, torch.Tensor):
        return
    count = max(len(engine.info(tensor).meta.shape), 1)
    if not -count <= dim < count:
        engine.raise_theirs(
            IndexError(
                "Dimension out of range (expected to be in range of "
                f"[{-count}, {count - 1}], but got {dim})"
            )
        )
