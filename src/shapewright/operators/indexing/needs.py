"""Needs of `x[...]`, `x[...] = value` and the `*_scatter` functions of slices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shapewright.findings.codes import (
    INDEX_OUT_OF_RANGE,
    MASK_SHAPE,
    TOO_MANY_INDICES,
    WRITTEN_SHAPE,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.linear_algebra.matrix_needs import of_plane
from shapewright.operators.metadata_rules import Made, Meta, Misfit
from shapewright.operators.need_checks import (
    differs,
    dims,
    dtype_unmet,
    is_tensor,
    lined_up,
    out_of_range,
    resized,
    text,
    word,
)
from shapewright.operators.needs_registry import both, named, needs
from shapewright.operators.pointwise.needs import broadcast
from shapewright.operators.promotion_and_broadcasting import KIND
from shapewright.operators.promotion_and_broadcasting import (
    broadcast as shapes_together,
)
from shapewright.operators.reduction.needs import of_dim

MASKS = ("bool", "uint8")


@needs("torch.Tensor.__getitem__")
def getitem(self: Meta, index: Any) -> Unmet | None:
    """Check that there are no more indices than dims, and that each is in range."""
    wrong = _of_items(self, index)
    if wrong is not None and wrong.code == MASK_SHAPE and is_tensor(index):
        # The mask stays, so that as many rows are read here as it reads elsewhere.
        fitting = Made((*index.shape, *self.shape[len(index.shape) :]), self.dtype)
        return replace(wrong, grants=(Grant("self", fitting),))
    return wrong


def _consumed(item: Any) -> int:
    """Return the number of dims that an index covers."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if is_tensor(item) and item.dtype in MASKS:
        return len(item.shape)
    return 1


def _of_items(self: Meta, index: Any) -> Unmet | None:
    """Check each index against the dim that it reads."""
    items = index if isinstance(index, tuple) else (index,)
    names = [f"index.{n}" for n in range(len(items))]
    if not isinstance(index, tuple):
        names = ["index"]
    shape = self.shape
    for item, name in zip(items, names, strict=True):
        if is_tensor(item) and KIND.get(item.dtype, 2) >= 2:
            why = "{op} expects integers or a bool mask"
            return dtype_unmet(name, item, "int64", why)
    count = sum(map(_consumed, items))
    if count > len(shape):
        return _too_many(self, items, count)
    at = 0
    for n, (item, name) in enumerate(zip(items, names, strict=True)):
        if item is Ellipsis:
            at = len(shape) - sum(map(_consumed, items[n + 1 :]))
            continue
        if is_tensor(item) and item.dtype not in MASKS and _empty(self, items):
            wrong = None  # nothing is read
        else:
            wrong = _of_item(self, item, name, at)
        if wrong is not None:
            return wrong
        at += _consumed(item)
    wide = [
        pair for entry in zip(names, items, strict=True) for pair in _picked(*entry)
    ]
    wrong = broadcast(wide) if len(wide) > 1 else None
    wrong = _with_all_rows(self, items, wrong) if wrong is not None else None
    by_name = dict(zip(names, items, strict=True))
    masks = [pair for pair in wide if by_name[pair[0]].dtype in MASKS]
    return _with_masks(wrong, masks) if wrong is not None and masks else wrong


def _with_all_rows(self: Meta, items: tuple[Any, ...], wrong: Unmet) -> Unmet:
    """Grant as many indices of rows as the tensor has, where another index has an entry
    for each of them.
    """
    if wrong.got is None or wrong.wanted is None or not is_tensor(items[0]):
        return wrong
    rows, other = items[0], wrong.got.argument
    if wrong.wanted.argument != "index.0" or wrong.has != self.shape[0]:
        return wrong
    if rows.dtype in MASKS or len(rows.shape) != 1 or self.shape[0] == rows.shape[0]:
        return wrong
    return replace(
        wrong, got=Place("index.0", 0), wanted=Place(other, 0), has=wrong.needs,
        needs=wrong.has, grants=(Grant("index.0", Made(self.shape[:1], rows.dtype)),),
        guessed=False,
    )  # fmt: skip


def _with_masks(wrong: Unmet, masks: list[tuple[str, Meta]]) -> Unmet:
    """Describe each mask by its number of True positions, and grant no other mask."""
    message = wrong.message
    for name, true in masks:
        shown = f"{word(name)}, true at {true.shape[0]} places"
        message = message.replace(f"{word(name)} {text(true.shape)}", shown)
    return replace(wrong, message=message, grants=())


def _empty(self: Meta, items: tuple[Any, ...]) -> bool:
    """Return whether the output has no elements."""
    at, empty = 0, 0 in self.shape
    for n, item in enumerate(items):
        if item is Ellipsis:
            at = len(self.shape) - sum(map(_consumed, items[n + 1 :]))
            continue
        if isinstance(item, slice) and at < len(self.shape):
            empty = empty or not range(*item.indices(self.shape[at]))
        at += _consumed(item)
    return empty


def _picked(name: str, item: Any) -> Iterator[tuple[str, Any]]:
    """Yield an index tensor; a known mask yields an index for each True value."""
    if not is_tensor(item):
        return
    if item.dtype not in MASKS:
        yield name, item
    elif getattr(item, "values", None) is not None:
        count = sum(map(bool, item.values))
        yield name, Made((count,), "int64")


def _too_many(self: Meta, items: tuple[Any, ...], count: int) -> Unmet:
    """Report that there are more indices than dims."""
    shape = self.shape
    padded = Made((*shape, *(1,) * (count - len(shape))), self.dtype)
    shown = dims(len(shape)) if shape else "no dims"
    return Unmet(
        TOO_MANY_INDICES,
        f"{{op}} gets {count} indices, but {{self}} {text(shape)} has {shown}",
        Place("self"),
        has=count,
        needs=len(shape),
        grants=(Grant("self", _grown(padded, items)),),
        guessed=True,
    )


def _grown(padded: Made, items: tuple[Any, ...]) -> Made:
    """Return the tensor enlarged until all integer indices are in range."""
    sizes = list(padded.shape)
    at = 0
    for n, item in enumerate(items):
        if item is Ellipsis:
            at = len(sizes) - sum(map(_consumed, items[n + 1 :]))
            continue
        if type(item) is int and at < len(sizes):
            sizes[at] = max(sizes[at], item + 1 if item >= 0 else -item)
        elif is_tensor(item) and item.dtype in MASKS:
            for d, size in enumerate(item.shape):
                sizes[at + d] = size
        at += _consumed(item)
    return Made(tuple(sizes), padded.dtype)


def _of_item(self: Meta, item: Any, name: str, at: int) -> Unmet | None:
    """Check one index against the dim or dims that it reads."""
    shape = self.shape
    if type(item) is int:
        size = shape[at]
        if -size <= item < size:
            return None
        top = f"0 to {size - 1}" if size else "none"
        return Unmet(
            INDEX_OUT_OF_RANGE,
            f"{{op}} reads index {item} of dim {at} of {{self}} {text(shape)}, which"
            f" has {top}",
            Place("self", at),
            has=size,
            needs=item + 1 if item >= 0 else -item,
            grants=(
                Grant("self", resized(self, at, item + 1 if item >= 0 else -item)),
            ),
        )
    if is_tensor(item) and item.dtype in MASKS:
        part = shape[at : at + len(item.shape)]
        if item.shape == part:
            return None
        dim = next(
            d
            for d, pair in enumerate(zip(item.shape, part, strict=True))
            if pair[0] != pair[1]
        )
        return Unmet(
            MASK_SHAPE,
            f"{{op}} needs a mask {text(part)} for dim {at} on of {{self}}"
            f" {text(shape)}, got {word(name)} {text(item.shape)}",
            Place(name, dim),
            Place("self", at + dim),
            item.shape[dim],
            part[dim],
            (Grant(name, Made(part, item.dtype)),),
        )
    if is_tensor(item):
        size = shape[at]
        wrong = out_of_range(
            name.replace(".", "_"), item, size, "self", at, least=-size, what="indices"
        )
        if wrong is None:
            return None
        fitting = Made(item.shape, item.dtype)
        return Unmet(
            wrong.code,
            wrong.message,
            Place(name),
            wrong.wanted,
            wrong.has,
            wrong.needs,
            (Grant(name, fitting),),
            most=wrong.most,
        )
    return None


@needs("torch.Tensor.__setitem__")
def setitem(self: Meta, index: Any, value: Any) -> Unmet | None:
    """Check the indices, and that the value broadcasts to the part it replaces."""
    wrong = _of_items(self, index)
    if wrong is not None or not is_tensor(value):
        return wrong
    items = index if isinstance(index, tuple) else (index,)
    return _of_written(self, items, value, value.shape)


@needs(*named(*both("index_put")), "torch.Tensor.index_put_")
def index_put(
    input: Meta, indices: Any, values: Any, accumulate: bool = False
) -> Unmet | None:
    """Check a list of indices and the values in the way `setitem` does."""
    items = tuple(indices) if isinstance(indices, tuple | list) else ()
    if not items or not is_tensor(values) or any(item is None for item in items):
        return None
    wrong = _of_items(input, items)
    if wrong is not None:  # whose places are those of brackets
        return replace(wrong, got=None, wanted=None, grants=())
    wrong = _of_written(input, items, values, values.shape)
    if wrong is not None and wrong.grants:
        grants = tuple(Grant("values", grant.value) for grant in wrong.grants)
        return replace(wrong, got=None, grants=grants)
    return None


def _of_written(
    self: Meta, items: tuple[Any, ...], value: Meta, shape: tuple[int, ...]
) -> Unmet | None:
    """Check that the value, without leading 1s, broadcasts to the indexed part."""
    part = _picked_shape(self.shape, items)
    if part is None:
        return _of_masked(self, items, value, shape)
    while shape and shape[0] == 1:
        shape = shape[1:]
    back = next(
        (
            n
            for n in range(1, len(shape) + 1)
            if n > len(part) or shape[-n] not in (1, part[-n])
        ),
        None,
    )
    if back is not None:
        at = len(value.shape) - back
        fits = part[-back] if back <= len(part) else None
        what = f"{shape[-back]} into {fits}" if fits is not None else "one dim too many"
        return Unmet(
            WRITTEN_SHAPE,
            f"{{op}} writes into a part {text(part)} of {{self}} {text(self.shape)},"
            f" but {{value}} is {text(value.shape)}: {what}",
            Place("value", at),
            None,
            shape[-back],
            fits,
            (Grant("value", Made(part, value.dtype)),),
            lines=lined_up([("value", value.shape), ("self", part)])
            if back <= len(part)
            else (),
        )
    by_index = any(is_tensor(item) and item.shape for item in items)
    if by_index and value.dtype != self.dtype and value.shape:
        why = f"{{op}} writes into {self.dtype} by indices"
        return dtype_unmet("value", value, self.dtype, why, "self")
    return None


def _of_masked(
    self: Meta, items: tuple[Any, ...], value: Meta, shape: tuple[int, ...]
) -> Unmet | None:
    """Check that what is written where a mask is True has not as many rows as the mask:
    `x[mask] = y` of a `y` as long as `x`.
    """
    mask = items[0]
    if len(items) != 1 or not is_tensor(mask) or mask.dtype not in MASKS:
        return None
    rows = len(mask.shape)
    if rows != 1 or shape != self.shape or mask.shape[0] < 2:
        return None
    return Unmet(
        WRITTEN_SHAPE,
        "{op} writes into the rows of {self} that {index} selects, but {value}"
        f" {text(shape)} has all {shape[0]} rows",
        Place("value", 0),
        None,
        shape[0],
        None,
        makes=(Made(self.shape, self.dtype),),
    )


def _picked_shape(
    shape: tuple[int, ...], items: tuple[Any, ...]
) -> tuple[int, ...] | None:
    """Return the shape of `x[items]`, or None if it depends on values."""
    taken = sum(map(_consumed, items))
    out: list[int] = []
    pairs: list[tuple[int, Any]] = []
    at = 0
    for item in items:
        if item is None:
            out.append(1)
        elif item is Ellipsis:
            out += shape[at : len(shape) - taken]
            at = len(shape) - taken
            continue
        elif type(item) is int or (is_tensor(item) and item.shape == ()):
            if is_tensor(item) and item.dtype in MASKS:
                return None
        elif isinstance(item, slice):
            ends = (item.start, item.stop, item.step)
            if not all(end is None or type(end) is int for end in ends):
                return None
            out.append(len(range(*item.indices(shape[at]))))
        elif is_tensor(item):
            picked = list(_picked("", item))
            if not picked:
                return None
            pairs.append((len(out), picked[0][1].shape))
        else:
            return None
        at += _consumed(item)
        taken -= _consumed(item)
    return _with_indices([*out, *shape[at:]], pairs)


def _with_indices(
    out: list[int], pairs: list[tuple[int, tuple[int, ...]]]
) -> tuple[int, ...] | None:
    """Insert the indices' shape at the first index, or in front if not adjacent."""
    if not pairs:
        return tuple(out)
    try:
        wide = shapes_together(*(shape for _, shape in pairs))
    except Misfit:
        return None
    places = {place for place, _ in pairs}
    first = pairs[0][0] if len(places) == 1 else 0
    return (*out[:first], *wide, *out[first:])


def _of_part(input: Meta, src: Meta, part: tuple[int, ...]) -> Unmet | None:
    """Check that the source has exactly the shape of the part that it replaces."""
    if src.shape == part:
        return None
    dim = differs(src.shape, part)
    return Unmet(
        WRITTEN_SHAPE,
        f"{{op}} writes a part {text(part)} of {{input}} {text(input.shape)}, but"
        f" {{src}} is {text(src.shape)}",
        Place("src", dim),
        Place("input"),
        text(src.shape),
        text(part),
        (Grant("src", Made(part, src.dtype)),),
    )


@needs(*named(*both("select_scatter")))
def select_scatter(input: Meta, src: Meta, dim: Any, index: Any) -> Unmet | None:
    """Check that the index is within the dim and that the source fits the slice."""
    wrong = of_dim("input", input, dim)
    if wrong is not None or type(dim) is not int or not input.shape:
        return wrong
    at = dim % len(input.shape)
    size = input.shape[at]
    if type(index) is int and not -size <= index < size:
        return Unmet(
            INDEX_OUT_OF_RANGE,
            f"{{op}} writes at {index} of dim {at} of {{input}} {text(input.shape)},"
            f" which has 0 to {size - 1}",
            Place("input", at),
            has=size,
            needs=index + 1 if index >= 0 else -index,
            grants=(Grant("index", 0),),
        )
    return _of_part(input, src, input.shape[:at] + input.shape[at + 1 :])


@needs(*named(*both("slice_scatter")))
def slice_scatter(
    input: Meta,
    src: Meta,
    dim: Any = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> Unmet | None:
    """Check that the source has the shape of the slice."""
    wrong = of_dim("input", input, dim)
    if wrong is not None or type(step) is not int or step < 1 or not input.shape:
        return wrong
    at = dim % len(input.shape)
    count = len(range(*slice(start, end, step).indices(input.shape[at])))
    return _of_part(input, src, (*input.shape[:at], count, *input.shape[at + 1 :]))


@needs(*named(*both("diagonal_scatter")))
def diagonal_scatter(
    input: Meta, src: Meta, offset: int = 0, dim1: Any = 0, dim2: Any = 1
) -> Unmet | None:
    """Check that the source has the shape of the diagonal, which is its last dim."""
    wrong = of_plane(input, dim1, dim2, ("dim1", "dim2"))
    if wrong is not None or type(offset) is not int:
        return wrong
    rank = len(input.shape)
    rows, columns = input.shape[dim1 % rank], input.shape[dim2 % rank]
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    kept = [s for d, s in enumerate(input.shape) if d not in (dim1 % rank, dim2 % rank)]
    return _of_part(input, src, (*kept, max(count, 0)))
