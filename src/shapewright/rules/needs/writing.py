"""What `x[...] = value` needs: a value that broadcasts to the part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shapewright.rules.broadcasting import broadcast as shapes_together
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.needs.brackets import MASKS, consumed, of_items, picked
from shapewright.rules.needs.dims import both, named
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import (
    dtype_unmet,
    is_tensor,
    lined_up,
    text,
)
from shapewright.rules.needs.unmet import Grant, Place, Unmet


@needs("torch.Tensor.__setitem__")
def setitem(self: Meta, index: Any, value: Any) -> Unmet | None:
    """The same, and a value that broadcasts to the part that is written."""
    wrong = of_items(self, index)
    if wrong is not None or not is_tensor(value):
        return wrong
    items = index if isinstance(index, tuple) else (index,)
    return of_written(self, items, value, value.shape)


@needs(*named(*both("index_put")), "torch.Tensor.index_put_")
def index_put(
    input: Meta, indices: Any, values: Any, accumulate: bool = False
) -> Unmet | None:
    """The same, the indices as a list."""
    items = tuple(indices) if isinstance(indices, tuple | list) else ()
    if not items or not is_tensor(values) or any(item is None for item in items):
        return None
    wrong = of_items(input, items)
    if wrong is not None:  # whose places are those of brackets
        return replace(wrong, got=None, wanted=None, grants=())
    wrong = of_written(input, items, values, values.shape)
    if wrong is not None:
        grants = tuple(Grant("values", grant.value) for grant in wrong.grants)
        return replace(wrong, got=None, grants=grants)
    return None


def of_written(
    self: Meta, items: tuple[Any, ...], value: Meta, shape: tuple[int, ...]
) -> Unmet | None:
    """A value that broadcasts to what the items pick; dims of 1 before it are free."""
    part = picked_shape(self.shape, items)
    if part is None:
        return None
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
        what = f"{shape[-back]} into {fits}" if fits is not None else "a dim too many"
        return Unmet(
            "written-shape",
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


def picked_shape(
    shape: tuple[int, ...], items: tuple[Any, ...]
) -> tuple[int, ...] | None:
    """What items between brackets pick; None where that depends on values."""
    taken = sum(map(consumed, items))
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
            found = list(picked("", item))
            if not found:
                return None
            pairs.append((len(out), found[0][1].shape))
        else:
            return None
        at += consumed(item)
        taken -= consumed(item)
    return with_indices([*out, *shape[at:]], pairs)


def with_indices(
    out: list[int], pairs: list[tuple[int, tuple[int, ...]]]
) -> tuple[int, ...] | None:
    """Indices come where the first of them stands, or first where they stand apart."""
    if not pairs:
        return tuple(out)
    try:
        wide = shapes_together(*(shape for _, shape in pairs))
    except Misfit:
        return None
    places = {place for place, _ in pairs}
    first = pairs[0][0] if len(places) == 1 else 0
    return (*out[:first], *wide, *out[first:])
