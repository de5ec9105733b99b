"""Formulas against plain traces at other sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import shapewright as sw
from shapewright.record.ops import Fact, Op, collect_leaves
from shapewright.sizes.expressions import Size


def agrees(size: int, real: int, sizes: dict[str, int]) -> bool:
    """Whether a formula gives what a run shows; one that says nothing is not wrong."""
    if not isinstance(size, Size):
        return size == real
    known = size.formula.letters() <= set(sizes)
    return not known or size.formula.value(sizes) == real


def agree(shape: Any, real: Any, sizes: dict[str, int]) -> bool:
    if shape is None or real is None:
        return shape is real
    return len(shape) == len(real) and all(
        agrees(one, two, sizes) for one, two in zip(shape, real, strict=True)
    )


def wrong(
    lettered: sw.Trace, plain: sw.Trace, sizes: dict[str, int]
) -> Iterator[tuple[Any, ...]]:
    """What a formula says otherwise than a trace at these sizes."""
    for one, two in zip(
        collect_leaves(lettered.output), collect_leaves(plain.output), strict=True
    ):
        if not agree(one.shape, two.shape, sizes):
            yield "output", one.shape, two.shape
    for one, two in matched(lettered, plain):
        for mine, real in zip(one.outputs, two.outputs, strict=True):
            if not agree(mine.shape, real.shape, sizes):
                yield one.name, mine.shape, real.shape
            elif not agree(of_several(mine, real), of_several(real, real), sizes):
                yield one.name, mine.stride, real.stride


def of_several(fact: Fact, real: Fact) -> Any:
    """The strides of dims with more than one element; others may be anything."""
    if fact.stride is None or real.stride is None:
        return fact.stride
    pairs = zip(fact.stride, real.shape, strict=True)
    return tuple(step for step, size in pairs if size > 1)


def place(op: Op) -> Any:
    """What tells an op from others, besides how often it was made."""
    return op.name, op.module, op.frames, len(op.outputs)


def matched(one: sw.Trace, two: sw.Trace) -> Iterator[tuple[Op, Op]]:
    """The ops that both made: the n-th of a place is the n-th of that place."""
    places: dict[Any, list[Op]] = {}
    for op in two.ops:
        places.setdefault(place(op), []).append(op)
    for op in one.ops:
        there = places.get(place(op))
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
    from shapewright.inputs.spec import parse_spec

    return str(parse_spec(spec).with_sizes(**sizes))
