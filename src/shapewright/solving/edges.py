"""Sizes at which a demand is tried before it is printed: at its edges, and between."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import isqrt

from shapewright.solving.planning import is_batch

Sizes = Mapping[str, int]

ENDS = 3
"""Allowed sizes that are tried at each end, and on each side of the witness."""
BETWEEN = 6
"""Allowed sizes that are tried between the ends."""
REFUSED = 6
"""Refused sizes that are tried."""
BEYOND = (1, 2, 4, 8)
"""Steps beyond the end of what is allowed: only the bound refuses there."""
MIXED = 32
"""Sizes that are tried with each letter on its own."""
OFFSETS = (-4, -3, -2, -1, 1, 2, 3, 4)
"""Steps from an allowed size to others, which a demand of a layer's rounding takes."""


def edge_sizes(
    takes: Callable[[Sizes], bool],
    witness: Sizes,
    groups: Sequence[tuple[str, ...]],
    highest: Callable[[str], int],
) -> Iterator[dict[str, int]]:
    """Sizes near which a demand is likeliest wrong, those of all groups in turn.

    Example: for multiples of 32 from 112 to 672, taken at 224, these are 128, 160, 192,
    256, 288, 640, 672 and more, and of what is refused 96, 704, 240, 223, 225.

    A group is letters that move together, such as both sides of an image.
    """
    ways = [_of_group(takes, witness, group, highest) for group in groups]
    ways.append(_of_each(takes, witness, highest))
    while ways:
        for way in list(ways):
            sizes = next(way, None)
            if sizes is None:
                ways.remove(way)
            else:
                yield sizes


def _of_group(
    takes: Callable[[Sizes], bool],
    witness: Sizes,
    group: tuple[str, ...],
    highest: Callable[[str], int],
) -> Iterator[dict[str, int]]:
    """Allowed sizes of a group first, then refused ones."""
    top = min(map(highest, group))
    moved = {size: {**witness, **dict.fromkeys(group, size)} for size in range(1, top)}
    allowed = [size for size, sizes in moved.items() if takes(sizes)]
    known = set(allowed)
    refused = [size for size in moved if size not in known]
    now = witness[group[0]]
    beyond = [size for size in _beyond(allowed) if size in moved]
    for size in dict.fromkeys(
        [*_at_edges(allowed, now), *beyond, *_beside(refused, allowed, now)]
    ):
        yield moved[size]


def _step(allowed: Sequence[int]) -> int:
    """The usual distance of allowed sizes."""
    gaps = Counter(b - a for a, b in pairwise(allowed))
    return gaps.most_common(1)[0][0] if gaps else 1


def _beyond(allowed: Sequence[int]) -> list[int]:
    """Sizes below and above all that is allowed, in its step."""
    if not allowed:
        return []
    step = _step(allowed)
    above = [allowed[-1] + step * count for count in BEYOND]
    above += [allowed[-1] // step * 4 * step]
    return [*above, *(allowed[0] - step * count for count in BEYOND)]


def _of_each(
    takes: Callable[[Sizes], bool], witness: Sizes, highest: Callable[[str], int]
) -> Iterator[dict[str, int]]:
    """Small and large sizes of all letters in every combination, then drawn ones.

    A limit of one letter may be one of a product of two, which shows only where the
    other one is small or large, and neither is refused for anything else.
    """
    steps, ends = {}, {}
    for name in witness:
        every = range(1, highest(name))
        allowed = [size for size in every if takes({**witness, name: size})]
        if len(allowed) > 1 and not is_batch(name):
            steps[name], ends[name] = _step(allowed), (allowed[0], allowed[-1])
    if len(ends) in (2, 3):
        for corner in product(*ends.values()):
            yield {**witness, **dict(zip(ends, corner, strict=True))}
    draw = random.Random(1)
    for _ in range(MIXED if len(ends) > 1 else 0):
        sizes = dict(witness)
        for name in sizes:
            if name in steps:
                counts = max(isqrt(highest(name) // steps[name]), 1)
                count = draw.randint(1, counts) * draw.randint(1, counts)
                sizes[name] = witness[name] % steps[name] + count * steps[name]
            elif is_batch(name) and takes({**witness, name: 1}):
                sizes[name] = draw.randint(1, 8)
        yield sizes


def _at_edges(allowed: Sequence[int], now: int) -> list[int]:
    """The nearest on both sides, the ends, and some between."""
    above = [size for size in allowed if size > now][:ENDS]
    below = [size for size in allowed if size < now][-ENDS:][::-1]
    step = max(len(allowed) // BETWEEN, 1)
    ends = [*allowed[:ENDS], *allowed[-2:]]
    return [*above, *below, *ends, *allowed[::step]]


def _beside(refused: Sequence[int], allowed: Sequence[int], now: int) -> list[int]:
    """Refused sizes halfway between allowed ones, and next to them."""
    known = set(refused)
    around = sorted(allowed, key=lambda size: abs(size - now))[:ENDS]
    halves = [(a + b) // 2 for a, b in pairwise(around)]
    halves += [(3 * a + b) // 4 for a, b in pairwise(around)]
    halves += [now // 2, now // 4, 3 * now // 2]
    ends = [allowed[0] - 1, allowed[-1] + 1] if allowed else []
    near = [size + offset for size in around[:2] for offset in OFFSETS]
    kept = [size for size in (*halves, *ends, *near) if size in known]
    return list(dict.fromkeys(kept))[: REFUSED + len(OFFSETS)]
