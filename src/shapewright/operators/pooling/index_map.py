"""Index maps of pooling over windows and of adaptive pooling.

Part `w` of an input of 5 in 3 parts goes from `5*w//3` up to `(5*w + 7)//3`: parts may
overlap, and need not be equally wide.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    SPACE,
    STEPS,
    build_inside_conditions,
    build_loops,
    build_read_index,
    flatten_index,
    places,
    steps,
    write_size,
)
from shapewright.index_maps.index_map import (
    Element,
    Equal,
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Within,
    index_map,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.pooling.shapes import adaptive_sizes
from shapewright.sizes.expressions import Expression, Letter, number
from shapewright.sizes.window_sizes import Window, compute_pooled, expand_per_dim

WHOLE = frozenset("uint8 int8 int16 int32 int64".split())


def _channel_letters(input: Meta, dims: int) -> tuple[str, ...]:
    """Return the letters `n, c`, or just `c` if there is no batch dim."""
    return ("n", "c")[2 - (len(input.shape) - dims) :]


# -- the largest -----------------------------------------------------------------------


def _largest(
    shape: tuple[int, ...],
    read: Read,
    loops: tuple[Loop, ...],
    conditions: tuple[Within, ...],
    letters: tuple[str, ...],
    words: str,
    flat: Expression | None,
    start: float | None = None,
    windows: tuple[Window, ...] = (),
) -> Any:
    """Return the map of the maximum and, with `flat`, the map of its index."""
    value = IndexMap(
        shape,
        (read,),
        loops,
        conditions,
        combine="amax",
        start=start,
        letters=letters,
        sentence=f"{words}.",
        windows=windows,
    )
    if flat is None:
        return value
    where = IndexMap(
        shape,
        (read,),
        loops,
        conditions,
        combine="window_argmax",
        letters=letters,
        sentence=f"{words}: its flat index into the input's spatial dims.",
        gives=flat,
        windows=windows,
    )
    return value, where


def _max_pool(
    input: Meta,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
    dims: int,
) -> Any:
    kernel = expand_per_dim(kernel_size, dims)
    sizes = input.shape[-dims:]
    over = compute_pooled(sizes, kernel, stride, padding, dilation, ceil_mode)
    front = _channel_letters(input, dims)
    loops, inner = steps(kernel)
    lined = list(zip(over, places(dims), inner, strict=True))
    at = tuple(build_read_index(window, place, step) for window, place, step in lined)
    within = [
        c for window, p, s in lined for c in build_inside_conditions(window, p, s)
    ]
    empty = any(window.all_outside() for window in over)
    if empty and (return_indices or input.dtype in WHOLE):
        return NotDrawn("a window lies in the padding alone")
    return _largest(
        (*input.shape[:-dims], *(window.places for window in over)),
        Read("input", (*map(Letter, front), *at)),
        loops,
        tuple(within),
        (*front, *SPACE[dims]),
        f"The largest element of each {write_size(kernel)} window",
        flatten_index(at, input.shape[-dims:]) if return_indices else None,
        -inf if empty else None,
        over,
    )


def _max_pooling(dims: int, indices: bool = False) -> Callable[..., Any]:
    """Return the map maker of `max_pool2d`, which `indices` makes return indices."""

    def make(
        input: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        more = (stride, padding, dilation, ceil_mode, return_indices or indices)
        return _max_pool(input, kernel_size, *more, dims)

    return make


def _max_unpool(dims: int) -> Callable[..., Any]:
    """Return the map maker of `max_unpool2d`, which moves each value to its index."""

    def make(
        input: Meta,
        indices: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> IndexMap:
        sizes = input.shape[-dims:]
        kernel = expand_per_dim(kernel_size, dims)
        output_sizes = [
            window.spread()
            for window in compute_pooled(sizes, kernel, stride, padding, 1, False)
        ]
        if output_size is not None:
            output_sizes = list(output_size)[-dims:]
        front = _channel_letters(input, dims)
        loops, inner = build_loops(dict(zip(STEPS[dims], sizes, strict=True)))
        at = (*map(Letter, front), *inner)
        return IndexMap(
            (*input.shape[:-dims], *output_sizes),
            (Read("input", at),),
            loops,
            (Equal(Element("indices", at), flatten_index(places(dims), output_sizes)),),
            start=0,
            letters=(*front, *SPACE[dims]),
            sentence="Each element goes to its place in `indices`; the others are 0.",
        )

    return make


# -- the mean --------------------------------------------------------------------------


def _avg_pool(dims: int) -> Callable[..., Any]:
    """Return the map maker of `torch.nn.functional.avg_pool2d`."""

    def make(
        input: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> IndexMap:
        kernel = expand_per_dim(kernel_size, dims)
        sizes = input.shape[-dims:]
        over = compute_pooled(sizes, kernel, stride, padding, 1, ceil_mode)
        front = _channel_letters(input, dims)
        loops, inner = steps(kernel)
        lined = list(zip(over, places(dims), inner, strict=True))
        at = (build_read_index(window, place, step) for window, place, step in lined)
        within = tuple(
            c for window, p, s in lined for c in build_inside_conditions(window, p, s)
        )
        reached = tuple(
            c
            for window, p, s in lined
            for c in build_inside_conditions(window, p, s, True)
        )
        means = f"The mean of each {write_size(kernel)} window"
        conditions = within
        scale: int | None = prod(kernel)
        when: tuple[Within, ...] = ()
        if divisor_override is not None:
            scale = divisor_override
            words = f"The sum of each {write_size(kernel)} window, divided by {scale}."
        elif within and not count_include_pad:
            scale, words = None, f"{means}, without the padding."
        elif reached:
            # The window goes over the edge of the padding, where nothing is counted.
            conditions, when, scale = reached, within, None
            words = f"{means}, with the padding as zeros, cut at its edge."
        else:
            words = f"{means}{', with the padding as zeros' if within else ''}."
        return IndexMap(
            (*input.shape[:-dims], *(window.places for window in over)),
            (Read("input", (*map(Letter, front), *at), when),),
            loops,
            conditions,
            combine="mean" if scale is None else "sum",
            scale=scale,
            letters=(*front, *SPACE[dims]),
            sentence=words,
            missing=0 if when else None,
            truncated=input.dtype in WHOLE,
            windows=over,
            sizing="average",
        )

    return make


# -- not drawn -------------------------------------------------------------------------


def _lp_pool(
    input: Meta,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> NotDrawn:
    return NotDrawn("it sums powers of the window's elements, and takes a root")


def _fractional_max_pool(
    input: Meta,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Meta | None = None,
) -> NotDrawn:
    return NotDrawn("its windows start at random places")


for _dims in (1, 2, 3):
    _f = "torch.nn.functional."
    index_map(f"torch.max_pool{_dims}d", f"{_f}max_pool{_dims}d")(_max_pooling(_dims))
    index_map(f"{_f}max_pool{_dims}d_with_indices")(_max_pooling(_dims, True))
    index_map(f"{_f}max_unpool{_dims}d")(_max_unpool(_dims))
    index_map(f"{_f}lp_pool{_dims}d")(_lp_pool)
    if _dims > 1:
        index_map(f"{_f}avg_pool{_dims}d", f"torch._C._nn.avg_pool{_dims}d")(
            _avg_pool(_dims)
        )
        index_map(
            f"{_f}fractional_max_pool{_dims}d",
            f"{_f}fractional_max_pool{_dims}d_with_indices",
        )(_fractional_max_pool)
index_map("torch.avg_pool1d", f"{_f}avg_pool1d")(_avg_pool(1))
index_map("torch.max_pool1d_with_indices")(_max_pooling(1, True))


def _cut(size: int, parts: int, place: Expression) -> tuple[Expression, Any, int, bool]:
    """Return start, end and width of part `place`, and whether all widths are equal.

    If they are not, the width is that of the widest.
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


def _adaptive(input: Meta, output_size: Any, dims: int) -> dict[str, Any]:
    """Return the settings that both kinds of adaptive pooling share."""
    asked = adaptive_sizes(input.shape[-dims:], output_size)
    assert asked is not None, "torch took other sizes than one for each dim"
    cuts = [
        _cut(size, parts, place)
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
        "front": _channel_letters(input, dims),
    }


def adaptive_avg_pool(dims: int) -> Callable[..., Any]:
    """Return the map maker of `torch.nn.functional.adaptive_avg_pool2d`."""

    def make(input: Meta, output_size: Any) -> IndexMap:
        of = _adaptive(input, output_size, dims)
        front, at, asked = of["front"], of["at"], of["shape"][-dims:]
        return IndexMap(
            of["shape"],
            (Read("input", (*map(Letter, front), *at)),),
            of["loops"],
            of["conditions"],
            combine="mean" if of["conditions"] else "sum",
            scale=None if of["conditions"] else prod(of["widths"]),
            letters=(*front, *SPACE[dims]),
            sentence=f"The mean of each part, of {write_size(asked)} that cover the "
            "input.",
        )

    return make


def _adaptive_max_pool(dims: int, indices: bool = False) -> Callable[..., Any]:
    """Return the map maker of `torch.nn.functional.adaptive_max_pool2d`."""

    def make(input: Meta, output_size: Any, return_indices: bool = False) -> Any:
        of = _adaptive(input, output_size, dims)
        front, at, asked = of["front"], of["at"], of["shape"][-dims:]
        both = return_indices or indices
        return _largest(
            of["shape"],
            Read("input", (*map(Letter, front), *at)),
            of["loops"],
            of["conditions"],
            (*front, *SPACE[dims]),
            f"The largest of each part, of {write_size(asked)} that cover the input",
            flatten_index(at, input.shape[-dims:]) if both else None,
        )

    return make


for _dims in (1, 2, 3):
    _f = "torch.nn.functional."
    index_map(f"{_f}adaptive_avg_pool{_dims}d")(adaptive_avg_pool(_dims))
    index_map(f"{_f}adaptive_max_pool{_dims}d")(_adaptive_max_pool(_dims))
    index_map(f"{_f}adaptive_max_pool{_dims}d_with_indices")(
        _adaptive_max_pool(_dims, True)
    )
index_map("torch.adaptive_avg_pool1d")(adaptive_avg_pool(1))
index_map("torch.adaptive_max_pool1d")(_adaptive_max_pool(1, True))
