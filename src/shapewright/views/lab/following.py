"""One output element followed back to what it reads: what a drawing marks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

from shapewright.dims.expression import Expression
from shapewright.rules.maps.drawn import Drawn, Side
from shapewright.rules.maps.evaluating import direct, sources
from shapewright.rules.maps.index_map import Element, IndexMap
from shapewright.views.lab.grid import Index, at

MOST_STEPS = 10_000
"""Steps of a map up to which it is followed, all elements that are tried together."""


@dataclass(frozen=True, slots=True)
class Followed:
    """An output's element, what it reads, and the marks in every tensor that is drawn.

    `found` are the elements that its last stage reads. `marks` also holds those that
    the stages before it read, and the elements of index tensors that decided where.
    """

    out: Side
    index: Index
    found: list[tuple[str, Index]]
    marks: list[tuple[Side, list[Index]]]
    staged: bool = False


def follow(drawn: Drawn, number: int = 0) -> Followed | None:
    """Follow one element of an output; None where values are not there to show."""
    out, one = drawn.outputs[number], drawn.maps[number]
    if out.values is None or any(side.values is None for side in drawn.inputs):
        return None
    steps = prod(loop.size for loop in one.loops)
    if steps > MOST_STEPS:
        return None
    lookup = {side.name: reader(side.values) for side in drawn.inputs}
    shown = {side.name for side in drawn.stages if side.values is not None}
    best: tuple[int, Index, list[Any]] | None = None
    most = min(40, MOST_STEPS // max(steps, 1))
    for index in islice(candidates(out.shape), 1 + most):
        found = list(dict.fromkeys(direct(one, index, lookup)))
        if best is None or len(found) > best[0]:
            best = len(found), index, found
    assert best is not None
    _, index, found = best
    marked: dict[str, list[Index]] = {}
    if one.stages:
        marks_of = [*sources(one, index, lookup), *found]
        found = [place for place in found if place[0] in {*lookup, *shown}]
    else:
        marks_of = found
    for name, place in [*marks_of, *deciding(one, index, lookup)]:
        marked.setdefault(name, []).append(place)
    every = (*drawn.inputs, *(side for side in drawn.stages if side.name in shown))
    marks = [(side, marked.get(side.name, [])) for side in every]
    return Followed(out, index, found, [*marks, (out, [index])], bool(one.stages))


def kinds(drawn: Drawn, followed: Followed | None) -> dict[str, str]:
    """What each tensor of a call does, by its name: `read`, `where`, `out`.

    `where` is also what is read only on the way to a stage that the output reads.
    """
    found = {side.name: "read" for side in (*drawn.inputs, *drawn.stages)}
    if followed is not None:
        read = {name for name, _ in followed.found}
        for side, marks in followed.marks:
            if marks and side.name not in read:
                found[side.name] = "where"
    return found | {side.name: "out" for side in drawn.outputs}


def without_values(drawn: Drawn) -> str:
    """Why nothing can be followed."""
    blank = [s for s in (*drawn.outputs[:1], *drawn.inputs) if s.values is None]
    empty = next((side for side in blank if not side.size), None)
    if empty is not None:
        return f"{empty.name} has no elements"
    steps = prod(loop.size for loop in drawn.maps[0].loops)
    if steps > MOST_STEPS:
        return f"each element of {drawn.outputs[0].name} comes from {steps:,} others"
    return "too large to show values"


def reader(values: Any) -> Any:
    """What gives an element of nested lists."""
    return lambda place: at(values, place)


def candidates(shape: Index) -> Iterator[Index]:
    """Elements to choose from: the middle one first, then the others."""
    yield tuple(size // 2 if size > 2 else size - 1 for size in shape)
    yield from product(*(range(size) for size in shape))


def deciding(one: IndexMap, index: Index, lookup: Any) -> list[tuple[str, Index]]:
    """The elements of index tensors that were asked on the way."""
    letters = {**lookup, **one.named(index)}
    steps = list(islice(one.steps(letters), 64))
    found = []
    for read in one.reads:
        for expression in read.indices:
            for inner in elements(expression):
                for step in steps:
                    place = tuple(part.value(step) for part in inner.indices)
                    found.append((inner.tensor, place))
    chosen = [condition for read in one.reads for condition in read.when]
    for condition in (*one.conditions, *chosen):
        for part in (getattr(condition, "left", None),):
            for inner in elements(part) if part is not None else ():
                for step in steps:
                    place = tuple(p.value(step) for p in inner.indices)
                    found.append((inner.tensor, place))
    return list(dict.fromkeys(found))


def elements(expression: Expression) -> Iterator[Element]:
    """The elements of index tensors in an expression."""
    if isinstance(expression, Element):
        yield expression
    for term, _ in getattr(expression, "terms", ()):
        yield from elements(term)
    if isinstance(inside := getattr(expression, "over", None), Expression):
        yield from elements(inside)
