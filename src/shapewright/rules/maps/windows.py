"""Windows as index maps have them: letters, what a step reads, and when it may.

Their sizes are those of `rules/windows.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapewright.dims.expression import Expression, Letter, number
from shapewright.rules.maps.index_map import Loop, Within
from shapewright.rules.windows import Window

SPACE = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
"""Letters of the places of a window, by the number of spatial dims."""
STEPS = {1: ("u",), 2: ("u", "v"), 3: ("t", "u", "v")}
"""Letters of the steps inside a window."""


def reads_at(window: Window, place: Expression, step: Expression) -> Expression:
    """The element that a step reads: negative or past the end in the padding."""
    return place * window.stride + step * window.dilation - window.before


def inside(
    window: Window, place: Expression, step: Expression, padded: bool = False
) -> tuple[Within, ...]:
    """What must hold for a step to be inside the input, or inside the padded one.

    Nothing where every step is.
    """
    before, after = (window.before, window.after) if padded else (0, 0)
    last = (window.places - 1) * window.stride + window.reach - 1 - window.before
    if window.before <= before and last < window.size + after:
        return ()
    at = reads_at(window, place, step)
    return (Within(at, -before, window.size + after),)


def leading(count: int) -> tuple[str, ...]:
    """Letters of the dims before the channels."""
    return ("n",) if count == 1 else tuple("ijklmpq"[:count])


def places(dims: int) -> tuple[Letter, ...]:
    """The letters of a window's places."""
    return tuple(Letter(name) for name in SPACE[dims])


def steps(sizes: Sequence[int]) -> tuple[tuple[Loop, ...], tuple[Expression, ...]]:
    """Loops through a window, and their letters; no loop along a size of 1."""
    return looped(dict(zip(STEPS[len(sizes)], sizes, strict=True)))


def looped(sizes: dict[str, int]) -> tuple[tuple[Loop, ...], tuple[Expression, ...]]:
    """Loops by their letters; a size of 1 has no loop, and is read at 0."""
    loops = tuple(Loop(name, size) for name, size in sizes.items() if size != 1)
    letters = tuple(
        number(0) if size == 1 else Letter(name) for name, size in sizes.items()
    )
    return loops, letters


def named(sizes: Sequence[int]) -> str:
    """Sizes as they are read: `3 x 3`."""
    return " x ".join(map(str, sizes))
