"""Sizes at which a demand is tried before it is printed: at its edges, and between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

Sizes = Mapping[str, int]

ENDS = 3
"""Allowed sizes that are tried at each end, and on each side of the witness."""
BETWEEN = 6
"""Allowed sizes that are tried between the ends."""
REFUSED = 12
"""Refused sizes that are tried."""
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
    refused = [size for size in moved if size not in set(allowed)]
    now = witness[group[0]]
    for size in dict.fromkeys(
        [*_at_edges(allowed, now), *_beside(refused, allowed, now)]
    ):
        yield moved[size]


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
