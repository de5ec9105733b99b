"""What blocks that slide over images need: `unfold` and `fold`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.rules.meta import Meta
from shapewright.rules.needs.pooling import of_rank, of_room
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dtype_unmet, resized, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import axis, each, of_settings
from shapewright.rules.promotion import KIND


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
    wrong = of_settings(
        2, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    if wrong is not None:
        return wrong
    kernel, reach = each(kernel_size, 2), each(dilation, 2)
    wrong = of_room(input, kernel, each(stride, 2), each(padding, 2), reach, False)
    return wrong or no_whole(input)


def no_whole(input: Meta) -> Unmet | None:
    """Blocks are summed and cut of anything but whole numbers."""
    if KIND.get(input.dtype) != 1:
        return None
    return dtype_unmet("input", input, "float32", "{op} takes floats")


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
    wrong = of_settings(
        2,
        output_size=output_size,
        kernel_size=kernel_size,
        dilation=dilation,
        padding=padding,
        stride=stride,
    )
    if wrong is not None:
        return wrong
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
    wrong = of_blocks(
        input,
        each(output_size, 2),
        kernel,
        each(dilation, 2),
        each(padding, 2),
        each(stride, 2),
    )
    return wrong or no_whole(input)


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
