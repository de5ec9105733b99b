"""Shapes and bounds derived from index maps alone: an oracle for rules and needs.

A dim of the output is as long as its letter can run before a read leaves its operand;
a read is right if its index lies inside its operand for all values of its letters.
Both follow from the expressions of the map and the shapes of the operands. No formula
of a rule and no check of a need is used.

    >>> derived_sizes(map_of_a_product, Operands(map_of_a_product, metas), 10)
    (2, 5)  # of input[i, u] * other[u, j], (2, 3) and (3, 5)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from shapewright.index_maps.evaluation import count_reads, find_sources
from shapewright.index_maps.index_map import (
    CallNumber,
    Element,
    Equal,
    IndexMap,
    Listed,
    Read,
)
from shapewright.sizes.expressions import (
    Absolute,
    Clamped,
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
)

Shape = tuple[int, ...]
Range = tuple[int, int]
Place = tuple[Expression, int]
"""An index expression, and the size of the dim in which it reads."""
MOST_READS = 20_000
"""Reads of a map up to which each is looked at; of more, the first are."""


def nested_shape(numbers: Any) -> Shape:
    """The shape of nested tuples or lists."""
    if not isinstance(numbers, list | tuple):
        return ()
    return (len(numbers), *(nested_shape(numbers[0]) if numbers else ()))


def flat(numbers: Any) -> Iterator[int]:
    """All numbers of nested tuples or lists."""
    if isinstance(numbers, list | tuple):
        for item in numbers:
            yield from flat(item)
    else:
        yield int(numbers)


class Operands:
    """The tensors of a call as a map names them, its tables and stages among them."""

    def __init__(self, drawn: IndexMap, metas: Mapping[str, Any]) -> None:
        self.values = {
            name: meta.values for name, meta in metas.items() if meta.values is not None
        }
        self.shapes = {name: tuple(meta.shape) for name, meta in metas.items()}
        for table in drawn.tables:
            self.shapes[table.name] = nested_shape(table.values)
        for stage in drawn.stages:
            self.shapes[stage.name] = stage.map.shape
            for table in stage.map.tables:
                self.shapes[table.name] = nested_shape(table.values)

    def reader(self, name: str) -> Any:
        """A function that reads the values of a tensor at an index."""

        def at(index: Shape) -> Any:
            found = self.values[name]
            for place in index:
                found = found[place]
            return found

        return at


def reads_of(drawn: IndexMap) -> Iterator[Read]:
    """Every read of one map, those of its stages left out."""
    every = [*drawn.reads, *(read for then in drawn.then for read in then.reads)]
    if isinstance(drawn.start, Read):
        every.append(drawn.start)
    yield from (read for read in every if not isinstance(read, CallNumber))


def is_guarded(drawn: IndexMap, read: Read) -> bool:
    """Whether conditions choose the steps in which the read applies."""
    if read is drawn.start or read not in drawn.reads:
        return False
    return bool(drawn.conditions or read.when)


def places_of(read: Read | Element, operands: Operands) -> Iterator[Place]:
    """The index expressions of a read and those inside them, with their dims' sizes."""
    shape = operands.shapes[read.tensor]
    assert len(shape) == len(read.indices), f"{read} of a tensor of {shape}"
    for index, size in zip(read.indices, shape, strict=True):
        yield index, size
        yield from _inner_places(index, operands)


def _inner_places(index: Expression, operands: Operands) -> Iterator[Place]:
    if isinstance(index, Element):
        yield from places_of(index, operands)
    elif isinstance(index, Listed):
        shape = nested_shape(index.numbers)
        for inner, size in zip(index.indices, shape, strict=True):
            yield inner, size
            yield from _inner_places(inner, operands)
    elif isinstance(index, Total):
        for term, _ in index.terms:
            yield from _inner_places(term, operands)
    elif hasattr(index, "over"):
        yield from _inner_places(index.over, operands)


def value_range(
    index: Expression, letters: Mapping[str, Range], operands: Operands
) -> Range | None:
    """The least and the greatest value of an index; None if it cannot be bounded."""
    match index:
        case Letter(name=name):
            return letters.get(name)
        case Element(tensor=tensor):
            values = list(flat(operands.values.get(tensor, ())))
            return (min(values), max(values)) if values else None
        case Listed(numbers=numbers):
            values = list(flat(numbers))
            return (min(values), max(values)) if values else None
        case Total(terms=terms, constant=constant):
            low = high = constant
            for term, factor in terms:
                inside = value_range(term, letters, operands)
                if inside is None:
                    return None
                ends = sorted(end * factor for end in inside)
                low, high = low + ends[0], high + ends[1]
            return low, high
        case Remainder(divisor=0) | Quotient(divisor=0):  # of an empty dim
            return None
        case Remainder(over=over, divisor=divisor):
            inside = value_range(over, letters, operands)
            if inside is None or inside[0] // divisor != inside[1] // divisor:
                return 0, divisor - 1
            return inside[0] % divisor, inside[1] % divisor
        case Quotient(over=over, divisor=divisor):
            inside = value_range(over, letters, operands)
            return inside and (inside[0] // divisor, inside[1] // divisor)
        case Clamped(over=over):
            inside = value_range(over, letters, operands)
            return inside and (_clamped(index, inside[0]), _clamped(index, inside[1]))
        case Absolute(over=over):
            inside = value_range(over, letters, operands)
            if inside is None:
                return None
            ends = sorted(map(abs, inside))
            return (0 if inside[0] <= 0 <= inside[1] else ends[0]), ends[1]
    return None


def _clamped(index: Clamped, value: int) -> int:
    value = value if index.low is None else max(value, index.low)
    return value if index.high is None else min(value, index.high)


def _ranges(drawn: IndexMap) -> dict[str, Range]:
    """The values that each letter of the output and of a loop goes through."""
    sizes = dict(zip(drawn.letters, drawn.shape, strict=True))
    sizes |= {loop.letter: loop.size for loop in drawn.loops}
    return {letter: (0, max(size - 1, 0)) for letter, size in sizes.items()}


def derived_sizes(
    drawn: IndexMap, operands: Operands, most: int
) -> tuple[int | None, ...]:
    """For each output dim, the first value of its letter at which a read leaves.

    None if no read sets an end up to `most`: where the dim is made by the operator
    (`expand`), or conditions choose what is read (padding).
    """
    ranges = _ranges(drawn)
    places = [
        place
        for read in reads_of(drawn)
        if not is_guarded(drawn, read)
        for place in places_of(read, operands)
    ]

    def end(letter: str) -> int | None:
        own = [place for place in places if letter in place[0].letters()]
        for value in range(most + 2) if own else ():
            at = {**ranges, letter: (value, value)}
            for index, size in own:
                inside = value_range(index, at, operands)
                if inside is None:
                    continue
                if inside[0] < 0 or inside[1] >= size:
                    return value
        return None

    return tuple(map(end, drawn.letters))


def reads_outside(drawn: IndexMap, operands: Operands) -> str:
    """The first read that lies outside its operand, or an empty text."""
    if 0 in drawn.shape or any(loop.size == 0 for loop in drawn.loops):
        return ""
    inner = (reads_outside(stage.map, operands) for stage in drawn.stages)
    found = next(filter(None, inner), "")
    return found or _outside(drawn, operands)


def _outside(drawn: IndexMap, operands: Operands) -> str:
    ranges = _ranges(drawn)
    for read in reads_of(drawn):
        for index, size in places_of(read, operands):
            inside = value_range(index, ranges, operands)
            if inside is None or inside[0] < 0 or inside[1] >= size:
                return _first_outside(drawn, operands)
    return ""


def _first_outside(drawn: IndexMap, operands: Operands) -> str:
    """As `reads_outside`, looking at each read of this map in turn."""
    tensors = {name: operands.reader(name) for name in operands.values}
    bare = replace(drawn, stages=())
    each = max(prod(loop.size for loop in drawn.loops), 1) * max(len(drawn.reads), 1)
    for number, at in enumerate(product(*map(range, drawn.shape))):
        if number * each > MOST_READS:
            break
        try:
            found = find_sources(bare, at, tensors)
        except IndexError:
            return f"a value at {at} is read outside its tensor"
        for name, index in found:
            pairs = zip(index, operands.shapes[name], strict=True)
            if not all(0 <= place < size for place, size in pairs):
                return f"{name}{list(index)} of {operands.shapes[name]} at {at}"
    return ""


def writes_outside(drawn: IndexMap, operands: Operands) -> str:
    """An index that names no place of the output, or an empty text.

    `index[u] == i` sends a step to the place `i`, as in scatter.
    """
    ranges = _ranges(drawn)
    chosen = [each for read in drawn.reads for each in read.when]
    for condition in (*drawn.conditions, *chosen):
        is_sent = isinstance(condition, Equal) and isinstance(condition.left, Element)
        if is_sent and condition.right.letters():
            sent = value_range(condition.left, ranges, operands)
            there = value_range(condition.right, ranges, operands)
            if sent and there and not there[0] <= sent[0] <= sent[1] <= there[1]:
                return f"{condition}: {sent} against {there}"
    return ""


def unread_end(drawn: IndexMap, operands: Operands) -> str:
    """A dim of an operand that no read reaches to its end, or an empty text.

    `input[i, u] * other[u, j]` reads all of both only if `u` has one size in both.
    Windows (`2*i + u`) may leave the rest of a dim: only single letters are looked at.
    """
    for one in (drawn, *(stage.map for stage in drawn.stages)):
        ranges = _ranges(one)
        reached: dict[tuple[str, int], int] = {}
        for read in reads_of(one):
            for dim, index in enumerate(read.indices):
                key, size = (read.tensor, dim), operands.shapes[read.tensor][dim]
                is_plain = isinstance(index, Letter) or (
                    isinstance(index, Total) and not index.terms
                )
                inside = value_range(index, ranges, operands) if is_plain else None
                end = size - 1 if inside is None else inside[1]
                reached[key] = max(reached.get(key, -1), end)
        for (name, dim), end in reached.items():
            shape = operands.shapes[name]
            if end + 1 < shape[dim]:
                return f"dim {dim} of {name} {shape} is read up to {end} only"
    return ""


def reads_each_once(drawn: IndexMap, operands: Operands) -> bool:
    """Whether each element of what is read is read by one element of the output."""
    name = drawn.reads[0].tensor
    shape = operands.shapes[name]
    return count_reads(drawn, name) == dict.fromkeys(product(*map(range, shape)), 1)


def refusal(drawn: IndexMap, operands: Operands, reads_all: bool) -> str:
    """Why no call can have this map, as far as the map shows; else an empty text.

    With `reads_all` the operator is one that reads each operand to its ends.
    """
    sizes = [*drawn.shape, *(loop.size for loop in drawn.loops)]
    if min(sizes, default=0) < 0:
        return f"sizes {sizes}"
    found = reads_outside(drawn, operands) or writes_outside(drawn, operands)
    return found or (unread_end(drawn, operands) if reads_all else "")
