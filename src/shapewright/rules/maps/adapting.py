"""Index maps of adaptive pooling: parts that cover the input, as many as are asked for.

Part `w` of an input of 5 in 3 parts goes from `5*w//3` up to `(5*w + 7)//3`: parts may
overlap, and need not be equally wide.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

from shapewright.dims.expression import Expression, Letter, number
from shapewright.rules.adaptive_pooling import adaptive_sizes
from shapewright.rules.maps.index_map import IndexMap, Read, Within, index_map
from shapewright.rules.maps.pooling import channel_letters, flattened, largest
from shapewright.rules.maps.windows import SPACE, named, places, steps
from shapewright.rules.meta import Meta


def cut(size: int, parts: int, place: Expression) -> tuple[Expression, Any, int, bool]:
    """Part number `place` of a dim: its start, its end, its width, if all are alike.

    Where they are not, the width is that of the widest.
    """
    if parts <= 1:
        return number(0), size, size, True
    ratio = Fraction(size, parts)
    over, under = ratio.numerator, ratio.denominator
    start = place * over // under
    end = (place * over + over + under - 1) // under
    widths = {
        -(-size * (part + 1) // parts) - size * part // parts for part in range(parts)
    }
    return start, end, max(widths, default=1), len(widths) <= 1


def adaptive(input: Meta, output_size: Any, dims: int) -> dict[str, Any]:
    """What both kinds of adaptive pooling have in common."""
    asked = adaptive_sizes(input.shape[-dims:], output_size)
    assert asked is not None, "torch took other sizes than one for each dim"
    cuts = [
        cut(size, parts, place)
        for size, parts, place in zip(
            input.shape[-dims:], asked, places(dims), strict=True
        )
    ]
    loops, inner = steps([width for _, _, width, _ in cuts])
    at = tuple(start + step for (start, *_), step in zip(cuts, inner, strict=True))
    return {
        "shape": (*input.shape[:-dims], *asked),
        "at": at,
        "loops": loops,
        "conditions": tuple(
            Within(index, 0, end)
            for (_, end, _, alike), index in zip(cuts, at, strict=True)
            if not alike
        ),
        "widths": [width for _, _, width, _ in cuts],
        "front": channel_letters(input, dims),
    }


def adaptive_avg_pool(dims: int) -> Callable[..., Any]:
    """`torch.nn.functional.adaptive_avg_pool2d`."""

    def make(input: Meta, output_size: Any) -> IndexMap:
        of = adaptive(input, output_size, dims)
        front, at, asked = of["front"], of["at"], of["shape"][-dims:]
        return IndexMap(
            of["shape"],
            (Read("input", (*map(Letter, front), *at)),),
            of["loops"],
            of["conditions"],
            combine="mean" if of["conditions"] else "sum",
            scale=None if of["conditions"] else prod(of["widths"]),
            letters=(*front, *SPACE[dims]),
            sentence=f"The mean of each part, of {named(asked)} that cover the input.",
        )

    return make


def adaptive_max_pool(dims: int, indices: bool = False) -> Callable[..., Any]:
    """`torch.nn.functional.adaptive_max_pool2d`."""

    def make(input: Meta, output_size: Any, return_indices: bool = False) -> Any:
        of = adaptive(input, output_size, dims)
        front, at, asked = of["front"], of["at"], of["shape"][-dims:]
        both = return_indices or indices
        return largest(
            of["shape"],
            Read("input", (*map(Letter, front), *at)),
            of["loops"],
            of["conditions"],
            (*front, *SPACE[dims]),
            f"The largest of each part, of {named(asked)} that cover the input",
            flattened(at, input.shape[-dims:]) if both else None,
        )

    return make


for _dims in (1, 2, 3):
    _f = "torch.nn.functional."
    index_map(f"{_f}adaptive_avg_pool{_dims}d")(adaptive_avg_pool(_dims))
    index_map(f"{_f}adaptive_max_pool{_dims}d")(adaptive_max_pool(_dims))
    index_map(f"{_f}adaptive_max_pool{_dims}d_with_indices")(
        adaptive_max_pool(_dims, True)
    )
index_map("torch.adaptive_avg_pool1d")(adaptive_avg_pool(1))
index_map("torch.adaptive_max_pool1d")(adaptive_max_pool(1, True))
