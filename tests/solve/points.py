"""Formulas of a label, and the points at which it is held against a real run."""

import functools
import itertools
import random
from collections.abc import Iterator
from typing import Any

JOINT_POINTS = 200

Sizes = dict[str, int]


@functools.cache
def formula(text: str) -> Any:
    return compile(text, text, "eval")


def value(text: str, sizes: Sizes) -> Any:
    """A formula of a label at these sizes; `min`, `max` and `int` are Python's."""
    return eval(formula(text), {}, dict(sizes))


def accepted(said: dict[str, Any], sizes: Sizes) -> bool:
    return bool(value(said["accepts"], sizes))


def along(said: dict[str, Any], letter: str) -> Iterator[Sizes]:
    """The points where only this letter leaves the witness."""
    low, high = said["bounds"][letter]
    for size in range(low, high + 1):
        yield said["witness"] | {letter: size}


def anywhere(said: dict[str, Any], rng: random.Random) -> Sizes:
    """One point within the bounds; half of them have two letters of the same size."""
    sizes = {letter: rng.randint(*span) for letter, span in said["bounds"].items()}
    if len(sizes) > 1 and rng.random() < 0.5:
        one, other = rng.sample(sorted(sizes), 2)
        low, high = said["bounds"][other]
        sizes[other] = min(max(sizes[one], low), high)
    return sizes


def settled(said: dict[str, Any], sizes: Sizes, rng: random.Random) -> Sizes:
    """The point with each letter in turn moved to where most constraints hold."""

    def holding(point: Sizes) -> int:
        return sum(bool(value(text, point)) for text in said["constraints"])

    for letter in rng.sample(sorted(sizes), len(sizes)):
        low, high = said["bounds"][letter]
        moved = [sizes | {letter: size} for size in range(low, high + 1)]
        held = [holding(point) for point in moved]
        if max(held) > holding(sizes):
            best = [i for i, count in enumerate(held) if count == max(held)]
            sizes = moved[rng.choice(best)]
    return sizes


def inside(said: dict[str, Any], count: int, rng: random.Random) -> list[Sizes]:
    """So many accepted points, all over the bounds."""
    drawn = (settled(said, anywhere(said, rng), rng) for _ in range(20 * count))
    return list(itertools.islice((p for p in drawn if accepted(said, p)), count))


def near(said: dict[str, Any], count: int, rng: random.Random) -> Iterator[Sizes]:
    """Accepted points with one letter moved by one."""
    for sizes in inside(said, count, rng):
        letter = rng.choice(sorted(sizes))
        low, high = said["bounds"][letter]
        moved = sizes[letter] + rng.choice([-1, 1])
        yield sizes | {letter: min(max(moved, low), high)}


def points(said: dict[str, Any]) -> Iterator[Sizes]:
    """All points at which the label is held against a real run."""
    rng = random.Random(0)
    for letter in said["bounds"]:
        yield from along(said, letter)
    half = JOINT_POINTS // 2
    yield from (anywhere(said, rng) for _ in range(half))
    yield from inside(said, half // 2, rng)
    yield from near(said, half // 2, rng)


def described(said: dict[str, Any], letter: str) -> list[int]:
    """The sizes within bounds that `letters` says go with the witness."""
    low, high = said["bounds"][letter]
    told = said["letters"][letter]
    if "values" in told:
        return list(told["values"])
    first, last = told["range"]
    step, rest = told["multiple"] or (1, 0)
    span = range(max(low, first), min(high, high if last is None else last) + 1)
    return [size for size in span if size % step == rest]
