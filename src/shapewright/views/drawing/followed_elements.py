"""An output element that is followed to what it reads, for the marks of a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.index_maps.evaluation import PLAIN_TERMS, find_direct, find_path
from shapewright.index_maps.index_map import Element, IndexMap
from shapewright.sizes.expressions import Expression, Letter
from shapewright.views.drawing.grids import LAST, Axes, Index, get_element

MOST_STEPS = 10_000
"""Steps up to which a map is followed, over all elements that are tried."""


MOST_FOLLOWED = 64
"""Elements of stages whose deciding elements are marked."""


@dataclass(frozen=True, slots=True)
class Followed:
    """An output element, the elements it reads, and the marks in every drawn tensor.

    `found` are the elements that its last stage reads. `marks` also holds those that
    the stages before it read, and the elements of index tensors that gave the places.
    `partner` is the output element that changes places with it, if the call is a
    transposition: each reads the index of the other.
    """

    out: Side
    index: Index
    found: list[tuple[str, Index]]
    marks: list[tuple[Side, list[Index]]]
    staged: bool = False
    partner: Index | None = None

    @property
    def axes(self) -> Axes:
        """Return the dims of the slice that is drawn: those that change places."""
        if self.partner is None:
            return LAST
        pairs = zip(self.index, self.partner, strict=True)
        moved = [dim for dim, (at, to) in enumerate(pairs) if at != to]
        rank = len(self.index)
        return (moved[0] - rank, moved[1] - rank) if len(moved) == 2 else LAST


def follow(drawn: Drawn, number: int = 0) -> Followed | None:
    """Follow an element of an output, or return None if there are no values to show."""
    out, index_map = drawn.outputs[number], drawn.maps[number]
    if out.values is None or any(side.values is None for side in drawn.inputs):
        return None
    steps = prod(loop.size for loop in index_map.loops)
    if steps > MOST_STEPS:
        return None
    lookup = {
        side.name: build_reader(side.values)
        for side in (*drawn.inputs, *drawn.stages)
        if side.values is not None
    }
    moved = _find_moved_element(index_map, out.shape)
    index = moved[0] if moved else _find_richest_element(index_map, out.shape, lookup)
    partner = moved[1] if moved else None
    elements = list(dict.fromkeys(find_direct(index_map, index, lookup)))
    path = find_path(index_map, index, lookup) if index_map.stages else elements
    deciding = _find_deciding(index_map, index, lookup)
    stages = {stage.name: stage.map for stage in index_map.stages}
    for name, place in [place for place in path if place[0] in stages][:MOST_FOLLOWED]:
        deciding += _find_deciding(stages[name], place, lookup)
    marked: dict[str, dict[Index, None]] = {}
    swapped = find_direct(index_map, partner, lookup) if partner is not None else []
    for name, place in [*path, *swapped, *deciding]:
        marked.setdefault(name, {})[place] = None
    shown = (side for side in drawn.stages if side.name in lookup)
    marks = [
        (side, list(marked.get(side.name, ()))) for side in (*drawn.inputs, *shown)
    ]
    ends = [index] if partner is None else [index, partner]
    return Followed(
        out,
        index,
        [place for place in elements if place[0] in lookup],
        [*marks, (out, ends)],
        bool(index_map.stages),
        partner,
    )


def _find_richest_element(index_map: IndexMap, shape: Index, lookup: Any) -> Index:
    """Return the output element, of a few, that reads most; the middle one if equal."""
    steps = prod(loop.size for loop in index_map.loops)
    most = min(40, MOST_STEPS // max(steps, 1))
    best: tuple[int, Index] | None = None
    for index in islice(_iter_candidates(shape), 1 + most):
        count = len(set(find_direct(index_map, index, lookup)))
        if best is None or count > best[0]:
            best = count, index
    assert best is not None
    return best[1]


NEAR = 6
"""Positions of a dim among which an element that moves is chosen."""


def _find_moved_element(
    index_map: IndexMap, shape: Index
) -> tuple[Index, Index | None] | None:
    """Return an element of a permutation of dims that comes from another index, and
    the one that it changes places with; None for another map.
    """
    order = _find_order(index_map)
    if order is None or prod(shape) > 1 << 20:
        return None
    ranges = [range(min(size, NEAR)) for size in shape]
    middle = [(len(places) - 1) / 2 for places in ranges]
    best: tuple[tuple[bool, float], Index, Index | None] | None = None
    for index in product(*ranges):
        source = tuple(index[at] for at in order)
        if source == index:
            continue
        fits = all(at < size for at, size in zip(source, shape, strict=True))
        swaps = fits and tuple(source[at] for at in order) == index
        far = sum(abs(at - half) for at, half in zip(index, middle, strict=True))
        if best is None or (not swaps, far) < best[0]:
            best = (not swaps, far), index, source if swaps else None
    return best and best[1:]


def _find_order(index_map: IndexMap) -> list[int] | None:
    """Return the output dim by which each dim of the input is read, if the map only
    permutes dims."""
    plain = index_map.term in PLAIN_TERMS and not (index_map.loops or index_map.then)
    if not plain or len(index_map.reads) != 1 or index_map.stages:
        return None
    places = {letter: at for at, letter in enumerate(index_map.letters)}
    order = [
        places.get(index.name, -1) if isinstance(index, Letter) else -1
        for index in index_map.reads[0].indices
    ]
    if sorted(order) != list(range(len(places))) or order == sorted(order):
        return None
    return order


def find_kinds(drawn: Drawn, followed: Followed | None) -> dict[str, str]:
    """Return the role of each tensor of a call by its name: `read`, `where` or `out`.

    `where` also marks tensors that are read only on the way to a stage.
    """
    kinds = {side.name: "read" for side in (*drawn.inputs, *drawn.stages)}
    if followed is not None:
        read = {name for name, _ in followed.found}
        for side, marks in followed.marks:
            if marks and side.name not in read:
                kinds[side.name] = "where"
    return kinds | {side.name: "out" for side in drawn.outputs}


def explain_missing_values(drawn: Drawn) -> str:
    """Return why no element can be followed."""
    blank = [s for s in (*drawn.outputs[:1], *drawn.inputs) if s.values is None]
    empty = next((side for side in blank if not side.size), None)
    if empty is not None:
        return f"{empty.name} has no elements"
    steps = prod(loop.size for loop in drawn.maps[0].loops)
    if steps > MOST_STEPS:
        return f"each element of {drawn.outputs[0].name} comes from {steps:,} others"
    return "too large to show values"


def build_reader(values: Any) -> Any:
    """Return a function that reads an element of nested lists."""
    return lambda place: get_element(values, place)


def _iter_candidates(shape: Index) -> Iterator[Index]:
    """Yield the elements to choose from: the middle one first, then the others."""
    yield tuple(size // 2 if size > 2 else size - 1 for size in shape)
    yield from product(*(range(size) for size in shape))


def _find_deciding(
    index_map: IndexMap, index: Index, lookup: Any
) -> list[tuple[str, Index]]:
    """Return the elements of index tensors that decide which elements are read."""
    letters = {**lookup, **index_map.named(index)}
    steps = list(islice(index_map.steps(letters), 64))
    elements = []
    for read in index_map.reads:
        for expression in read.indices:
            for inner in _iter_elements(expression):
                for step in steps:
                    place = tuple(part.value(step) for part in inner.indices)
                    elements.append((inner.tensor, place))
    chosen = [condition for read in index_map.reads for condition in read.when]
    for condition in (*index_map.conditions, *chosen):
        for part in (getattr(condition, "left", None),):
            for inner in _iter_elements(part) if part is not None else ():
                for step in steps:
                    place = tuple(p.value(step) for p in inner.indices)
                    elements.append((inner.tensor, place))
    return list(dict.fromkeys(elements))


def _iter_elements(expression: Expression) -> Iterator[Element]:
    """Yield the elements of index tensors in an expression."""
    if isinstance(expression, Element):
        yield expression
    for term, _ in getattr(expression, "terms", ()):
        yield from _iter_elements(term)
    if isinstance(inside := getattr(expression, "over", None), Expression):
        yield from _iter_elements(inside)
