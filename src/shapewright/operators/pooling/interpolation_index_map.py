"""Index maps of interpolation: the elements around each output position, and weights.

Positions and weights follow `native/UpSample.h` and `native/cpu/UpSampleKernel.cpp` of
torch. They are kept in tables, as torch builds them, except for nearest neighbours with
a short formula.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from typing import Any

from shapewright.index_maps.index_expressions import SPACE, STEPS, write_size
from shapewright.index_maps.index_map import (
    Element,
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Table,
    index_map,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.pooling.index_map import WHOLE, adaptive_avg_pool
from shapewright.operators.pooling.shapes import resized
from shapewright.sizes.expressions import Expression, Letter


def _single(value: float) -> float:
    """Round a number to float32, as torch does to find the nearest element."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


# -- places and weights along one dim --------------------------------------------------


def _nearest_places(
    size: int, new_size: int, factor: float | None, exact: bool
) -> list[int]:
    """Return the index of the input element that each output element copies."""
    scale = _single(1 / factor if factor else size / new_size)
    shift = 0.5 if exact else 0.0
    return [
        min(floor(_single((at + shift) * scale)), size - 1) for at in range(new_size)
    ]


def _as_formula(
    places: list[int], size: int, at: Letter, factor: float | None
) -> Expression | None:
    """Return a short formula for the input indices, or None if no formula fits."""
    ratios = [Fraction(size, len(places))]
    if factor:
        ratios.append(1 / Fraction(factor).limit_denominator(64))
    for ratio in ratios:
        over, under = ratio.numerator, ratio.denominator
        for shift in (0, over // 2):
            formula = (at * over + shift) // under
            if all(
                formula.value({at.name: place}) == source
                for place, source in enumerate(places)
            ):
                return formula
    return None


Taps = tuple[list[list[int]], list[list[float]]]
"""For each output element, the input indices that it reads and their weights."""


def _scale_of(size: int, new_size: int, factor: float | None, corners: bool) -> float:
    """Return the distance between output elements in units of input elements."""
    if corners:
        return (size - 1) / (new_size - 1) if new_size > 1 else 0.0
    return 1 / factor if factor else size / new_size


def _linear_taps(size: int, new_size: int, factor: float | None, corners: bool) -> Taps:
    scale = _scale_of(size, new_size, factor, corners)
    places, weights = [], []
    for at in range(new_size):
        real = at * scale if corners else max(0.0, (at + 0.5) * scale - 0.5)
        low = min(floor(real), size - 1)
        part = min(max(real - low, 0.0), 1.0)
        places.append([low, min(low + 1, size - 1)])
        weights.append([1 - part, part])
    return places, weights


def _cubic_taps(size: int, new_size: int, factor: float | None, corners: bool) -> Taps:
    scale = _scale_of(size, new_size, factor, corners)
    places, weights = [], []
    for at in range(new_size):
        real = at * scale if corners else (at + 0.5) * scale - 0.5
        low = min(floor(real), size - 1)
        part = min(max(real - low, 0.0), 1.0)
        places.append([min(max(low + tap, 0), size - 1) for tap in (-1, 0, 1, 2)])
        weights.append([_cubic(part - tap, -0.75) for tap in (-1, 0, 1, 2)])
    return places, weights


def _smooth_taps(
    size: int, new_size: int, factor: float | None, corners: bool, reach: int
) -> Taps:
    """Return the taps with `antialias`: the filter widens with the output spacing."""
    scale = _scale_of(size, new_size, factor, corners)
    wide = max(scale, 1.0)
    support = reach / 2 * wide
    places, weights = [], []
    for at in range(new_size):
        centre = scale * (at + 0.5)
        low = max(int(centre - support + 0.5), 0)
        high = min(int(centre + support + 0.5), size)
        own = [
            _weigh((place - centre + 0.5) / wide, reach) for place in range(low, high)
        ]
        whole = sum(own) or 1.0
        places.append(list(range(low, high)))
        weights.append([weight / whole for weight in own])
    most = max(map(len, places))
    for near, own in zip(places, weights, strict=True):
        # Every new element gets as many taps; those too many weigh nothing.
        own.extend([0.0] * (most - len(near)))
        near.extend([near[-1]] * (most - len(near)))
    return places, weights


def _weigh(distance: float, reach: int) -> float:
    """Return the weight of an element at a distance, with `antialias`."""
    if reach == 2:
        return max(0.0, 1 - abs(distance))
    return _cubic(distance, -0.5)


def _cubic(distance: float, a: float) -> float:
    """Return the weight of an element in Keys' cubic convolution."""
    x = abs(distance)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    if x < 2:
        return (((x - 5) * x + 8) * x - 4) * a
    return 0.0


# -- the maps --------------------------------------------------------------------------


def _copied(
    input: Meta, new_sizes: Sequence[int], factors: Sequence[float | None], exact: bool
) -> IndexMap:
    """Map nearest-neighbor interpolation, in which each output element is a copy."""
    dims = len(new_sizes)
    tables, at = [], []
    for name, size, new, factor in zip(
        SPACE[dims], input.shape[-dims:], new_sizes, factors, strict=True
    ):
        places = _nearest_places(size, new, factor, exact)
        index = _as_formula(places, size, Letter(name), factor)
        if index is None:
            tables.append(Table(f"source_{name}", tuple(places)))
            index = Element(f"source_{name}", (Letter(name),))
        at.append(index)
    return IndexMap(
        (*input.shape[:2], *new_sizes),
        (Read("input", (Letter("n"), Letter("c"), *at)),),
        letters=("n", "c", *SPACE[dims]),
        sentence=f"Each of the {write_size(new_sizes)} elements is a copy of the "
        "nearest one.",
        tables=tuple(tables),
    )


def _weighted(
    input: Meta,
    new_sizes: Sequence[int],
    factors: Sequence[float | None],
    taps: Callable[[int, int, float | None], Taps],
) -> IndexMap:
    """Map each output element to a sum of input elements, weighted along each dim."""
    dims = len(new_sizes)
    tables, loops, at, weights = [], [], [], []
    for name, step, size, new, factor in zip(
        SPACE[dims], STEPS[dims], input.shape[-dims:], new_sizes, factors, strict=True
    ):
        places, shares = taps(size, new, factor)
        index = (Letter(name), Letter(step))
        loops.append(Loop(step, len(places[0])))
        tables.append(Table(f"source_{name}", tuple(map(tuple, places))))
        tables.append(Table(f"weight_{name}", tuple(map(tuple, shares))))
        at.append(Element(f"source_{name}", index))
        weights.append(Read(f"weight_{name}", index))
    taken = write_size([loop.size for loop in loops])
    return IndexMap(
        (*input.shape[:2], *new_sizes),
        (Read("input", (Letter("n"), Letter("c"), *at)), *weights),
        tuple(loops),
        term="product",
        combine="sum",
        letters=("n", "c", *SPACE[dims]),
        sentence=f"Each of the {write_size(new_sizes)} elements is a weighted sum of "
        f"the {taken} nearest ones: the nearer, the more.",
        tables=tuple(tables),
    )


@index_map("torch.nn.functional.interpolate")
def interpolate(
    input: Meta,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    sizes = input.shape[2:]
    dims = len(sizes)
    if 0 in input.shape:
        return NotDrawn("its input is empty")
    new_sizes = resized(tuple(sizes), size, scale_factor)
    if new_sizes is None:
        return NotDrawn("its sizes are not plain numbers, one for each dim")
    factors: tuple[float | None, ...] = (None,) * dims
    if size is None and not recompute_scale_factor:
        many = isinstance(scale_factor, tuple | list)
        factors = tuple(scale_factor) if many else (scale_factor,) * dims
    if mode == "area":
        return adaptive_avg_pool(dims)(input, new_sizes)
    if mode in ("nearest", "nearest-exact"):
        return _copied(input, new_sizes, factors, mode == "nearest-exact")
    if input.dtype in WHOLE:
        return NotDrawn("its weighted sums are rounded to whole numbers on the way")
    corners = bool(align_corners)
    if antialias:
        if new_sizes[-1] == 1 and new_sizes[0] not in (1, sizes[0]):
            # Seen in torch 2.13 on the CPU: each row repeats the first one.
            return NotDrawn("torch is wrong at a width of 1 with `antialias`")
        reach = 4 if mode == "bicubic" else 2
        return _weighted(
            input,
            new_sizes,
            factors,
            lambda own, new, by: _smooth_taps(own, new, by, corners, reach),
        )
    taps = _cubic_taps if mode == "bicubic" else _linear_taps
    return _weighted(
        input, new_sizes, factors, lambda own, new, by: taps(own, new, by, corners)
    )


@index_map("torch.nn.functional.upsample")
def upsample(
    input: Meta,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    return interpolate(input, size, scale_factor, mode, align_corners)


@index_map("torch.nn.functional.upsample_nearest")
def upsample_nearest(input: Meta, size: Any = None, scale_factor: Any = None) -> Any:
    return interpolate(input, size, scale_factor)


@index_map("torch.nn.functional.upsample_bilinear")
def upsample_bilinear(input: Meta, size: Any = None, scale_factor: Any = None) -> Any:
    return interpolate(input, size, scale_factor, "bilinear", True)


@index_map("torch.nn.functional.affine_grid", "torch.affine_grid_generator")
def affine_grid(theta: Meta, size: Any, align_corners: Any = None) -> NotDrawn:
    return NotDrawn("it multiplies a grid of places with the matrices of `theta`")


@index_map("torch.nn.functional.grid_sample", "torch.grid_sampler")
def grid_sample(
    input: Meta,
    grid: Meta,
    mode: Any = "bilinear",
    padding_mode: Any = "zeros",
    align_corners: Any = None,
) -> NotDrawn:
    return NotDrawn("the places that it reads are fractions, given by `grid`")
