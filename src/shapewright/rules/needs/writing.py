"""What `x[...] = y` needs."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.broadcasting import clash
from shapewright.rules.needs.indexing import MASKS, consumed, of_items, picked
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import Shape, is_tensor, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet


@needs("torch.Tensor.__setitem__")
def setitem(self: Meta, index: Any, value: Any) -> Unmet | None:
    """What reading needs; and what is written there lines up with what is read."""
    return of_items(self, index) or of_value(self, index, value)


def of_value(self: Meta, index: Any, value: Any) -> Unmet | None:
    """The sizes of what is written, lined up from the right with its place."""
    place = reached(self.shape, index if isinstance(index, tuple) else (index,))
    if place is None or not is_tensor(value):
        return None
    given: Shape = value.shape
    while len(given) > len(place) and given[0] == 1:
        given = given[1:]
    back = clash(place, given)
    wider = [n for n in range(1, len(given) + 1) if given[-n] != 1]
    if back is None:  # a place is not stretched, as an operand is
        back = next((n for n in wider if n > len(place) or place[-n] == 1), None)
    if back is None:
        return None
    dim = len(value.shape) - back
    asked = place[-back] if back <= len(place) else None
    against = f": {asked} against {given[-back]}" if asked is not None else ""
    return Unmet(
        "broadcast-mismatch",
        f"{{op}} writes into {text(place)} of {{self}} {text(self.shape)}, but"
        f" {{value}} is {text(value.shape)}{against}",
        Place("value", dim),
        None,
        given[-back],
        asked,
        (Grant("value", Made(place, value.dtype)),),
    )


def reached(shape: Shape, items: tuple[Any, ...]) -> Shape | None:
    """The shape of what brackets stand for; None where values decide it.

    Whole numbers take a dim away, tensors of them stand together: where the first is,
    or in front where something else stands between them.
    """
    found: list[int] = []
    wide: list[tuple[int, Shape]] = []
    at = 0
    for n, item in enumerate(items):
        if item is None:
            found.append(1)
        elif item is Ellipsis:
            left = len(shape) - sum(map(consumed, items[n + 1 :]))
            found += shape[at:left]
            at = left
        elif isinstance(item, slice):
            found.append(len(range(*item.indices(shape[at]))))
            at += 1
        elif type(item) is int or (is_tensor(item) and not item.shape):
            if is_tensor(item) and item.dtype in MASKS:
                return None
            at += 1
        elif is_tensor(item):
            shapes = [each.shape for _, each in picked("", item)]
            if not shapes:
                return None
            wide += [(len(found), each) for each in shapes]
            at += consumed(item)
        else:
            return None
    found += shape[at:]
    if not wide:
        return tuple(found)
    places = {place for place, _ in wide}
    first = min(places) if len(places) == 1 else 0
    return (*found[:first], *together([each for _, each in wide]), *found[first:])


def together(shapes: list[Shape]) -> Shape:
    """The shape of some that line up from the right."""
    rank = max(map(len, shapes))
    rows = [(1,) * (rank - len(each)) + each for each in shapes]
    columns = zip(*rows, strict=True)
    return tuple(next((s for s in sizes if s != 1), 1) for sizes in columns)
