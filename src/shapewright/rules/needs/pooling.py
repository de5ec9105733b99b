"""What pooling, its undoing, and sliding blocks need."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dims, resized, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import axis, each

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
        return pooled(input, spatial, kernel_size, stride, padding, dilation, ceil_mode)

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
        return wrong

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
    wrong = of_rank(input, spatial)
    if wrong is not None:
        return wrong
    kernel, pads = each(kernel_size, spatial), each(padding, spatial)
    steps = (
        kernel
        if stride is None or stride == () or stride == []
        else each(stride, spatial)
    )
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
        return of_rank(input, spatial)

    name = f"torch.nn.functional.adaptive_{kind}_pool{spatial}d"
    names = (name, f"{name}_with_indices") if kind == "max" else (name,)
    needs(*names)(pool)


for _spatial in (1, 2, 3):
    adaptive(_spatial, "avg")
    adaptive(_spatial, "max")


@needs("torch.nn.functional.unfold")
def unfold(
    input: Meta,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Unmet | None:
    """Images, and room for a block."""
    if len(input.shape) not in (3, 4):
        return of_rank(input, 2)
    kernel, reach = each(kernel_size, 2), each(dilation, 2)
    return of_room(input, kernel, each(stride, 2), each(padding, 2), reach, False)


@needs("torch.nn.functional.fold")
def fold(
    input: Meta,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Unmet | None:
    """Elements of a block in dim -2, as many blocks as slide over the output in -1."""
    rank = len(input.shape)
    if rank not in (2, 3):
        return Unmet(
            "wrong-rank",
            f"{{op}} takes 3 dims (batch, channels·block, blocks), got {rank}:"
            f" {{input}} is {text(input.shape)}",
            Place("input"),
            has=rank,
            needs=3,
        )
    kernel = each(kernel_size, 2)
    block = prod(kernel)
    if input.shape[-2] % block:
        return Unmet(
            "fold-channels",
            f"{{op}} needs channels·{kernel[0]}·{kernel[1]} in dim {rank - 2} of"
            f" {{input}}, a multiple of {block}, got {input.shape[-2]}",
            Place("input", rank - 2),
            has=input.shape[-2],
            needs=block,
            grants=(
                Grant(
                    "input",
                    resized(input, -2, max(input.shape[-2] // block, 1) * block),
                ),
            ),
            guessed=True,
        )
    return of_blocks(
        input,
        each(output_size, 2),
        kernel,
        each(dilation, 2),
        each(padding, 2),
        each(stride, 2),
    )


def of_blocks(
    input: Meta,
    size: Sequence[int],
    kernel: Sequence[int],
    reach: Sequence[int],
    pads: Sequence[int],
    steps: Sequence[int],
) -> Unmet | None:
    """The number of blocks, by its formula."""
    counts, lines = [], []
    for at in range(2):
        want = reach[at] * (kernel[at] - 1) + 1
        count = (size[at] + 2 * pads[at] - want) // steps[at] + 1
        counts.append(count)
        padded = f"{size[at]} + 2·{pads[at]}" if pads[at] else f"{size[at]}"
        lines.append(f"{axis(at, 2)}: ({padded} - {want})//{steps[at]} + 1 = {count}")
    wanted, have = prod(counts), input.shape[-1]
    if min(counts) < 1:
        least = [
            r * (k - 1) + 1 - 2 * p for r, k, p in zip(reach, kernel, pads, strict=True)
        ]
        fits = tuple(max(s, n) for s, n in zip(size, least, strict=True))
        return Unmet(
            "kernel-too-large",
            f"{{op}} needs an output of at least {text(least)} for one block, got"
            f" {text(size)}",
            has=text(size),
            needs=text(fits),
            grants=(Grant("output_size", fits),),
            guessed=True,
        )
    if wanted == have:
        return None
    rank = len(input.shape)
    return Unmet(
        "fold-blocks",
        f"{{op}} needs {counts[0]}·{counts[1]} = {wanted} blocks in dim {rank - 1} of"
        f" {{input}}, got {have}",
        Place("input", rank - 1),
        has=have,
        needs=wanted,
        grants=(Grant("input", resized(input, -1, wanted)),),
        lines=tuple(lines),
    )
