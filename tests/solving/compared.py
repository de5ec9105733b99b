"""Formulas against plain traces at other sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import shapewright as sw
from shapewright.dims.size import Size
from shapewright.trace.module import leaves
from shapewright.trace.op import Op


def value(size: int, sizes: dict[str, int]) -> int:
    return size.formula.value(sizes) if isinstance(size, Size) else size


def at(shape: Any, sizes: dict[str, int]) -> Any:
    return None if shape is None else tuple(value(size, sizes) for size in shape)


def wrong(
    lettered: sw.Trace, plain: sw.Trace, sizes: dict[str, int]
) -> Iterator[tuple[Any, ...]]:
    """What a formula says otherwise than a trace at these sizes."""
    for one, two in zip(leaves(lettered.output), leaves(plain.output), strict=True):
        if at(one.shape, sizes) != two.shape:
            yield "output", one.shape, two.shape
    for one, two in matched(lettered, plain):
        for mine, real in zip(one.outputs, two.outputs, strict=True):
            if at(mine.shape, sizes) != real.shape:
                yield one.name, mine.shape, real.shape
            elif at(mine.stride, sizes) != real.stride:
                yield one.name, mine.stride, real.stride


def matched(one: sw.Trace, two: sw.Trace) -> Iterator[tuple[Op, Op]]:
    """The ops that both made: the n-th of a place is the n-th of that place."""
    places: dict[Any, list[Op]] = {}
    for op in two.ops:
        places.setdefault((op.name, op.module, op.frames), []).append(op)
    for op in one.ops:
        there = places.get((op.name, op.module, op.frames))
        if there:
            yield op, there.pop(0)


def random_sizes(trace: sw.Trace, draw: random.Random) -> dict[str, int]:
    """Sizes of the letters within the range that the formulas claim."""
    assert trace.formulas is not None
    return {
        name: draw.randrange(each.low, each.high + 1, each.step)
        for name, each in trace.formulas.letters.items()
    }


def checked(
    model: Any, spec: str, times: int = 20, seed: int = 0
) -> tuple[sw.Trace, list[Any]]:
    """The formulas of a model, and all that is wrong with them at random sizes."""
    trace = sw.formulas(model, spec)
    found: list[Any] = []
    draw = random.Random(seed)
    for _ in range(times if trace.formulas is not None else 0):
        sizes = random_sizes(trace, draw)
        plain = sw.trace(model, written(spec, sizes))
        if plain.complete:
            found += [(sizes, *each) for each in wrong(trace, plain, sizes)]
    return trace, found


def written(spec: str, sizes: dict[str, int]) -> str:
    """The spec with sizes stated."""
    from shapewright.inputs.spec import parse

    return str(parse(spec).with_sizes(**sizes))
