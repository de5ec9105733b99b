"""Checks of the arguments of padding, resizing, pixel shuffles, `unfold` and
`fold`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, prod
from typing import Any

from shapewright.findings.codes import (
    FOLD_BLOCKS,
    FOLD_CHANNELS,
    GROUPS_DO_NOT_DIVIDE,
    INTERPOLATED_SIZES,
    KERNEL_TOO_LARGE,
    NOT_POSITIVE,
    PADDING_PAIRS,
    PADDING_TOO_LARGE,
    SHUFFLED_SIZES,
    WRONG_RANK,
)
from shapewright.operators.dtype_needs import no_bools, real_floats
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    axis,
    dtype_unmet,
    each,
    of_least,
    of_positive,
    of_settings,
    of_spatial_rank,
    resized,
    text,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.pooling.needs import of_room
from shapewright.operators.promotion_and_broadcasting import KIND

IMAGE = " (channels, height, width)"
MODES = {
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "trilinear": (5,),
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "area": (3, 4, 5),
}


@needs("torch.nn.functional.pad")
def pad(
    input: Meta, pad: Any, mode: str = "constant", value: Any = None
) -> Unmet | None:
    """Check the padding, given in pairs from the last dim on, and its sizes."""
    if not isinstance(pad, tuple | list) or not all(type(p) is int for p in pad):
        return None
    rank, pairs = len(input.shape), len(pad) // 2
    if len(pad) % 2 or (pairs > rank and mode == "constant"):
        fits = tuple(pad[: 2 * min(pairs, rank)])
        return Unmet(
            PADDING_PAIRS,
            f"{{op}} expects two numbers for each dim from the last on, at most"
            f" {2 * rank} for {{input}} {text(input.shape)}, got {len(pad)}",
            Place("input"),
            has=len(pad),
            needs=2 * rank,
            grants=(Grant("pad", fits),) if mode == "constant" else (),
        )
    if mode == "constant":
        return None
    if rank not in (pairs + 1, pairs + 2) or pairs not in (1, 2, 3):
        return _of_pairs(input, pad, mode)
    for n in range(pairs):
        size, most = input.shape[-1 - n], max(pad[2 * n : 2 * n + 2])
        limit = size - 1 if mode == "reflect" else size
        if mode in ("reflect", "circular") and most > limit:
            at = rank - 1 - n
            return Unmet(
                PADDING_TOO_LARGE,
                f"{{op}} with `{mode}` pads dim {at} of {{input}} {text(input.shape)}"
                f" by at most {limit}, got {most}",
                Place("input", at),
                has=size,
                needs=most + (mode == "reflect"),
                grants=(
                    Grant("input", resized(input, at, most + (mode == "reflect"))),
                ),
                guessed=True,
            )
    return no_bools(("input", input)) if mode in ("reflect", "replicate") else None


def _of_pairs(input: Meta, pad: Any, mode: str) -> Unmet | None:
    """Report padding that has no pair for some dim after batch and channels."""
    rank, pairs = len(input.shape), len(pad) // 2
    fits = min(max(pairs, rank - 2, 1), rank - 1, 3)
    grants: tuple[Grant, ...] = ()
    if rank in (fits + 1, fits + 2):
        kept = tuple(pad[: 2 * fits])
        grants = (Grant("pad", (*kept, *(0,) * (2 * fits - len(kept)))),)
    return Unmet(
        PADDING_PAIRS,
        f"{{op}} with `{mode}` takes two numbers for each dim after batch and channels"
        f" of {{input}} {text(input.shape)}, got {len(pad)}",
        Place("input"),
        has=len(pad),
        needs=2 * fits if fits > 0 else 2,
        grants=grants,
    )


@needs("torch.nn.functional.local_response_norm")
def local_response_norm(
    input: Meta, size: Any, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the shape is (batch, channels, length, ...), and size and dtype."""
    wrong = of_least(input, 3, " (batch, channels, length)") or of_positive(
        "size", size
    )
    return wrong or (real_floats(("input", input)) if input.dtype != "int64" else None)


@needs("torch.nn.functional.interpolate")
def interpolate(
    input: Meta,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check that batch and channels precede the resized dims, with a size for each."""
    rank = len(input.shape)
    spatial = rank - 2
    if rank not in (3, 4, 5) or rank not in MODES.get(mode, (rank,)):
        wanted = MODES.get(mode, (3, 4, 5))
        shown = " or ".join(map(str, wanted))
        grants: tuple[Grant, ...] = ()
        if rank == wanted[0] - 1:
            grants = (Grant("input", Made((1, *input.shape), input.dtype)),)
        more = ""
        other = {3: "linear", 4: "bilinear", 5: "trilinear"}.get(rank)
        if other and mode != other and mode != "bicubic":
            more, grants = f"; `{other}` takes {rank}", (Grant("mode", other),)
        return Unmet(
            WRONG_RANK,
            f"{{op}} with `{mode}` takes {shown} dims (batch, channels, ...), got"
            f" {rank}: {{input}} is {text(input.shape)}{more}",
            Place("input"),
            has=rank,
            needs=wanted[0],
            grants=grants,
        )
    for name, numbers in (("size", size), ("scale_factor", scale_factor)):
        if isinstance(numbers, tuple | list) and len(numbers) != spatial:
            fits = tuple(numbers[-spatial:])
            fits = (*(numbers[:1] or (1,)) * (spatial - len(fits)), *fits)
            return Unmet(
                INTERPOLATED_SIZES,
                f"{{op}} expects {spatial} numbers as `{name}`, one for each dim after"
                f" batch and channels of {{input}} {text(input.shape)}, got"
                f" {len(numbers)}",
                Place("input"),
                has=len(numbers),
                needs=spatial,
                grants=(Grant(name, fits),),
            )
    wrong = of_positive("size", size) if size is not None else None
    wrong = wrong or _of_scale(input, scale_factor, mode)
    if wrong is None and mode.startswith("nearest"):
        return no_bools(("input", input))
    return wrong or (real_floats(("input", input)) if input.dtype != "uint8" else None)


def _of_scale(input: Meta, scale: Any, mode: str) -> Unmet | None:
    """Check that the scale factors leave at least one pixel in each dim."""
    spatial = len(input.shape) - 2
    factors = tuple(scale) if isinstance(scale, tuple | list) else (scale,) * spatial
    for at, factor in enumerate(factors):
        if not isinstance(factor, int | float):
            return None
        size = input.shape[2 + at]
        if floor(size * factor) >= 1 or mode == "area":
            continue
        return Unmet(
            NOT_POSITIVE,
            f"{{op}} makes {size}·{factor} of dim {2 + at} of {{input}}"
            f" {text(input.shape)}, which is less than 1",
            Place("input", 2 + at),
            has=size,
            needs=1,
            grants=(Grant("scale_factor", 1),),
            guessed=True,
        )
    return None


@needs("torch.pixel_shuffle")
def pixel_shuffle(input: Meta, upscale_factor: int) -> Unmet | None:
    """Check that the channels are divisible by the square of the factor."""
    wrong = of_least(input, 3, IMAGE) or of_positive("upscale_factor", upscale_factor)
    if wrong is not None:
        return wrong
    at = len(input.shape) - 3
    have, square = input.shape[at], upscale_factor**2
    if have % square == 0:
        return None
    fits = max(have // square, 1) * square
    return Unmet(
        SHUFFLED_SIZES,
        f"{{op}} needs channels in dim {at} that {upscale_factor}·{upscale_factor} ="
        f" {square} divides, got {have}: {{input}} is {text(input.shape)}",
        Place("input", at),
        has=have,
        needs=fits,
        grants=(Grant("input", resized(input, at, fits)),),
        guessed=True,
    )


@needs("torch.pixel_unshuffle")
def pixel_unshuffle(input: Meta, downscale_factor: int) -> Unmet | None:
    """Check that height and width are divisible by the factor."""
    wrong = of_least(input, 3, IMAGE) or of_positive(
        "downscale_factor", downscale_factor
    )
    if wrong is not None:
        return wrong
    rank = len(input.shape)
    for at in (rank - 2, rank - 1):
        have = input.shape[at]
        if have % downscale_factor:
            fits = max(have // downscale_factor, 1) * downscale_factor
            return Unmet(
                SHUFFLED_SIZES,
                f"{{op}} needs a size in dim {at} that {downscale_factor} divides, got"
                f" {have}: {{input}} is {text(input.shape)}",
                Place("input", at),
                has=have,
                needs=fits,
                grants=(Grant("input", resized(input, at, fits)),),
                guessed=True,
            )
    return None


@needs("torch.channel_shuffle")
def channel_shuffle(input: Meta, groups: int) -> Unmet | None:
    """Check that the groups divide the channels."""
    if len(input.shape) < 3 or groups < 1 or input.shape[1] % groups == 0:
        return None
    have = input.shape[1]
    return Unmet(
        GROUPS_DO_NOT_DIVIDE,
        f"{{op}} cannot divide {have} channels into {groups} groups",
        Place("input", 1),
        has=have,
        needs=groups,
        makes=(Made(input.shape, input.dtype),),
    )


@needs("torch.nn.functional.unfold")
def unfold(
    input: Meta,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Unmet | None:
    """Check that the input consists of images into which at least one block fits."""
    if len(input.shape) not in (3, 4):
        return of_spatial_rank(input, 2)
    wrong = of_settings(
        2, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    if wrong is not None:
        return wrong
    kernel, reach = each(kernel_size, 2), each(dilation, 2)
    wrong = of_room(input, kernel, each(stride, 2), each(padding, 2), reach, False)
    return wrong or _no_whole(input)


def _no_whole(input: Meta) -> Unmet | None:
    """Check that the input does not hold integers."""
    if KIND.get(input.dtype) != 1:
        return None
    return dtype_unmet("input", input, "float32", "{op} expects floats")


@needs("torch.nn.functional.fold")
def fold(
    input: Meta,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Unmet | None:
    """Check that dim -2 holds the elements of a block and dim -1 the blocks."""
    rank = len(input.shape)
    if rank not in (2, 3):
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 3 dims (batch, channels·block, blocks), got {rank}:"
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
            FOLD_CHANNELS,
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
    wrong = _of_blocks(
        input,
        each(output_size, 2),
        kernel,
        each(dilation, 2),
        each(padding, 2),
        each(stride, 2),
    )
    return wrong or _no_whole(input)


def _of_blocks(
    input: Meta,
    size: Sequence[int],
    kernel: Sequence[int],
    reach: Sequence[int],
    pads: Sequence[int],
    steps: Sequence[int],
) -> Unmet | None:
    """Check that the number of blocks is the one that follows from the sizes."""
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
            KERNEL_TOO_LARGE,
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
        FOLD_BLOCKS,
        f"{{op}} needs {counts[0]}·{counts[1]} = {wanted} blocks in dim {rank - 1} of"
        f" {{input}}, got {have}",
        Place("input", rank - 1),
        has=have,
        needs=wanted,
        grants=(Grant("input", resized(input, -1, wanted)),),
        lines=tuple(lines),
    )
