"""What windows that slide over the last dims need: room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.unmet import Grant, Place, Unmet

AXES = ("depth", "height", "width")


def each(value: Any, count: int) -> tuple[int, ...]:
    """One number for each dim: 3 is (3, 3) for images."""
    if isinstance(value, int):
        return (value,) * count
    sizes = tuple(value)
    return sizes * count if len(sizes) == 1 else sizes


def axis(at: int, spatial: int) -> str:
    """`height` for the first dim of two."""
    return "length" if spatial == 1 else AXES[at - spatial]


def too_large(
    input: Meta, kernel: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Unmet | None:
    """The kernel is at most as large as the padded input."""
    spatial = len(kernel)
    first = len(input.shape) - spatial
    shape = list(input.shape)
    found: list[tuple[int, str, str]] = []
    for at, (width, pad, reach) in enumerate(
        zip(kernel, padding, dilation, strict=True)
    ):
        size = input.shape[first + at]
        want, have = reach * (width - 1) + 1, size + 2 * pad
        if have < want:
            needs = f"{want}"
            if reach > 1:
                needs = f"{reach}·({width} - 1) + 1 = {want}"
            has = f"{size}" if not pad else f"{size} + 2·{pad} = {have}"
            found.append((first + at, needs, f"{has} in {axis(at, spatial)}"))
            shape[first + at] = max(want - 2 * pad, 1)
    if not found:
        return None
    dim, needs, has = found[0]
    return Unmet(
        "kernel-too-large",
        f"{{op}} needs room for a kernel of {needs}, got {has}",
        Place("input", dim),
        has=input.shape[dim],
        needs=shape[dim],
        grants=(Grant("input", Made(tuple(shape), input.dtype)),),
        guessed=True,
    )


def of_positive(argument: str, value: Any, least: int = 1) -> Unmet | None:
    """Sizes, strides and factors of at least 1."""
    given = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not all(type(one) is int for one in given) or min(given, default=1) >= least:
        return None
    fits: Any = tuple(max(one, least) for one in given)
    return Unmet(
        "not-positive",
        f"{{op}} takes at least {least} as `{argument}`, got {min(given)}",
        has=min(given),
        needs=least,
        grants=(Grant(argument, fits if len(given) > 1 else fits[0]),),
        guessed=True,
    )


def of_settings(spatial: int, **given: Any) -> Unmet | None:
    """A number for all dims or one for each; strides of at least 1, padding of 0."""
    for argument, value in given.items():
        if isinstance(value, tuple | list) and len(value) not in (1, spatial):
            fits = (*value[:spatial], *(value[-1:] or (1,)) * (spatial - len(value)))
            return Unmet(
                "window-numbers",
                f"{{op}} takes one number as `{argument}`, or {spatial}, got"
                f" {len(value)}: {tuple(value)}",
                has=len(value),
                needs=spatial,
                grants=(Grant(argument, fits),),
                guessed=True,
            )
        wrong = of_positive(argument, value, 0 if "padding" in argument else 1)
        if wrong is not None:
            return wrong
    return None
