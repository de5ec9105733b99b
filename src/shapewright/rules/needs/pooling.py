"""What pooling, its undoing, and sliding blocks need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.kinds import (
    no_bools,
    no_complex,
    real_floats,
    wide_floats,
)
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dims, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import axis, each, of_positive, of_settings

LAYOUT = {1: "length", 2: "height, width", 3: "depth, height, width"}


def pooling(spatial: int, dilated: bool) -> None:
    """Register the pooling of so many dims."""
    name = f"{'max' if dilated else 'avg'}_pool{spatial}d"

    def maximum(
        input: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Unmet | None:
        wrong = pooled(
            input, spatial, kernel_size, stride, padding, dilation, ceil_mode
        )
        if wrong is None and spatial == 1 and not return_indices:
            return real_floats(("input", input))
        return wrong or no_bools(("input", input)) or no_complex(("input", input))

    def average(
        input: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Unmet | None:
        wrong = pooled(input, spatial, kernel_size, stride, padding, 1, ceil_mode)
        if wrong is None and spatial == 3:  # this one compares before it pads
            kernel = each(kernel_size, 3)
            wrong = of_room(input, kernel, (1, 1, 1), (0, 0, 0), (1, 1, 1), False)
        if wrong is not None or input.dtype == "int64":
            return wrong
        return (wide_floats if spatial == 3 else real_floats)(("input", input))

    if dilated:
        indexed = f"torch.nn.functional.{name}_with_indices"
        needs(f"torch.{name}", indexed)(maximum)
    else:
        needs(f"torch.nn.functional.{name}")(average)


for _spatial in (1, 2, 3):
    pooling(_spatial, True)
    pooling(_spatial, False)


def of_rank(input: Meta, spatial: int) -> Unmet | None:
    """Channels and the dims that are pooled, with or without a batch."""
    rank = len(input.shape)
    if rank in (spatial + 1, spatial + 2):
        return None
    made: tuple[Grant, ...] = ()
    if rank == spatial:
        made = (Grant("input", Made((1, *input.shape), input.dtype)),)
    elif rank == spatial + 3:
        first, second, *rest = input.shape
        made = (Grant("input", Made((first * second, *rest), input.dtype)),)
    return Unmet(
        "wrong-rank",
        f"{{op}} takes {dims(spatial + 2)} (batch, channels, {LAYOUT[spatial]}), got"
        f" {rank}: {{input}} is {text(input.shape)}",
        Place("input"),
        has=rank,
        needs=spatial + 2,
        grants=made,
        guessed=rank > spatial,
    )


def pooled(
    input: Meta,
    spatial: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Unmet | None:
    """Dims; padding of at most half a kernel; an output of at least 1."""
    given = stride is not None and stride not in ((), [])
    wrong = of_rank(input, spatial) or of_settings(
        spatial, kernel_size=kernel_size, padding=padding, dilation=dilation
    )
    if wrong is None and given:
        wrong = of_settings(spatial, stride=stride)
    if wrong is not None:
        return wrong
    kernel, pads = each(kernel_size, spatial), each(padding, spatial)
    steps = each(stride, spatial) if given else kernel
    reach = each(dilation, spatial)
    for pad, width in zip(pads, kernel, strict=True):
        if pad * 2 > width:
            fits = tuple(min(p, w // 2) for p, w in zip(pads, kernel, strict=True))
            return Unmet(
                "pool-padding",
                f"{{op}} takes a padding of at most half its kernel, {width // 2}, got"
                f" {pad}",
                has=pad,
                needs=width // 2,
                grants=(Grant("padding", fits),),
            )
    return of_room(input, kernel, steps, pads, reach, ceil_mode)


def of_room(
    input: Meta,
    kernel: Sequence[int],
    steps: Sequence[int],
    pads: Sequence[int],
    reach: Sequence[int],
    ceil_mode: bool,
) -> Unmet | None:
    """At least one window fits."""
    spatial = len(kernel)
    first = len(input.shape) - spatial
    for at in range(spatial):
        size = input.shape[first + at]
        want = reach[at] * (kernel[at] - 1) + 1
        room = size + 2 * pads[at] - want + (steps[at] - 1 if ceil_mode else 0)
        if room // steps[at] + 1 >= 1:
            continue
        shape = list(input.shape)
        for d in range(spatial):
            least = reach[d] * (kernel[d] - 1) + 1 - 2 * pads[d]
            shape[first + d] = max(shape[first + d], least, 1)
        has = (
            f"{size} + 2·{pads[at]} = {size + 2 * pads[at]}" if pads[at] else f"{size}"
        )
        return Unmet(
            "kernel-too-large",
            f"{{op}} needs room for a kernel of {want}, got {has} in"
            f" {axis(at, spatial)}",
            Place("input", first + at),
            has=size,
            needs=want - 2 * pads[at],
            grants=(Grant("input", Made(tuple(shape), input.dtype)),),
            guessed=True,
        )
    return None


def adaptive(spatial: int, kind: str) -> None:
    """Register the adaptive pooling of so many dims."""

    def pool(
        input: Meta, output_size: Any, return_indices: bool = False
    ) -> Unmet | None:
        wrong = of_rank(input, spatial) or of_sizes(output_size, spatial)
        return wrong or real_floats(("input", input))

    name = f"torch.nn.functional.adaptive_{kind}_pool{spatial}d"
    names = (name, f"{name}_with_indices") if kind == "max" else (name,)
    needs(*names)(pool)


def of_sizes(output_size: Any, spatial: int) -> Unmet | None:
    """A size for each dim, of at least 0; None keeps a dim."""
    listed = isinstance(output_size, tuple | list)
    given = list(output_size) if listed else [output_size]
    known = [0 if size is None else size for size in given]
    if listed and len(given) not in (1, spatial):
        return of_settings(spatial, output_size=known)
    return of_positive("output_size", known, 0)


for _spatial in (1, 2, 3):
    adaptive(_spatial, "avg")
    adaptive(_spatial, "max")
