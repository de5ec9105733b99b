"""What padding, resizing, shuffling and sampling of images need."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import resized, same_dtype, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet

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
    """Pairs from the last dim on; reflections are shorter than the dim."""
    if not isinstance(pad, tuple | list) or not all(type(p) is int for p in pad):
        return None
    rank, pairs = len(input.shape), len(pad) // 2
    if len(pad) % 2 or (pairs > rank and mode == "constant"):
        fits = tuple(pad[: 2 * min(pairs, rank)])
        return Unmet(
            "padding-pairs",
            f"{{op}} takes two numbers for each dim from the last on, at most"
            f" {2 * rank} for {{input}} {text(input.shape)}, got {len(pad)}",
            Place("input"),
            has=len(pad),
            needs=2 * rank,
            grants=(Grant("pad", fits),) if mode == "constant" else (),
        )
    if mode == "constant":
        return None
    if rank not in (pairs + 1, pairs + 2) or pairs not in (1, 2, 3):
        return None
    for n in range(pairs):
        size, most = input.shape[-1 - n], max(pad[2 * n : 2 * n + 2])
        limit = size - 1 if mode == "reflect" else size
        if mode in ("reflect", "circular") and most > limit:
            at = rank - 1 - n
            return Unmet(
                "padding-too-large",
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
    return None


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
    """Batch and channels before what is resized; as many sizes as dims."""
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
            "wrong-rank",
            f"{{op}} with `{mode}` takes {shown} dims (batch, channels, ...), got"
            f" {rank}: {{input}} is {text(input.shape)}{more}",
            Place("input"),
            has=rank,
            needs=wanted[0],
            grants=grants,
        )
    for name, given in (("size", size), ("scale_factor", scale_factor)):
        if isinstance(given, tuple | list) and len(given) != spatial:
            fits = tuple(given[-spatial:])
            fits = (*(given[:1] or (1,)) * (spatial - len(fits)), *fits)
            return Unmet(
                "interpolated-sizes",
                f"{{op}} takes {spatial} numbers as `{name}`, one for each dim behind"
                f" batch and channels of {{input}} {text(input.shape)}, got"
                f" {len(given)}",
                Place("input"),
                has=len(given),
                needs=spatial,
                grants=(Grant(name, fits),),
            )
    return None


@needs("torch.pixel_shuffle")
def pixel_shuffle(input: Meta, upscale_factor: int) -> Unmet | None:
    """Channels that the square of the factor divides."""
    if len(input.shape) < 3 or upscale_factor < 1:
        return None
    at = len(input.shape) - 3
    have, square = input.shape[at], upscale_factor**2
    if have % square == 0:
        return None
    fits = max(have // square, 1) * square
    return Unmet(
        "shuffled-sizes",
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
    """Height and width that the factor divides."""
    if len(input.shape) < 3 or downscale_factor < 1:
        return None
    rank = len(input.shape)
    for at in (rank - 2, rank - 1):
        have = input.shape[at]
        if have % downscale_factor:
            fits = max(have // downscale_factor, 1) * downscale_factor
            return Unmet(
                "shuffled-sizes",
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
    """Groups that divide the channels."""
    if len(input.shape) < 3 or groups < 1 or input.shape[1] % groups == 0:
        return None
    have = input.shape[1]
    return Unmet(
        "groups-do-not-divide",
        f"{{op}} cannot divide {have} channels into {groups} groups",
        Place("input", 1),
        has=have,
        needs=groups,
        makes=(Made(input.shape, input.dtype),),
    )


@needs("torch.nn.functional.grid_sample")
def grid_sample(input: Meta, grid: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """A place of 2 (or 3) coordinates for each pixel that comes out."""
    rank = len(input.shape)
    if rank not in (4, 5) or len(grid.shape) != rank:
        return None
    wanted = rank - 2
    if grid.shape[-1] != wanted:
        made = resized(grid, rank - 1, wanted)
        if grid.shape[1] == wanted:
            made = Made((grid.shape[0], *grid.shape[2:], wanted), grid.dtype)
        return Unmet(
            "grid-shape",
            f"{{op}} takes a grid (batch, height, width, {wanted}), got {{grid}}"
            f" {text(grid.shape)}",
            Place("grid", rank - 1),
            has=grid.shape[-1],
            needs=wanted,
            grants=(Grant("grid", made),),
        )
    if grid.shape[0] != input.shape[0]:
        return Unmet(
            "batch-dim-mismatch",
            f"{{op}} needs a grid for each image: {{input}} has {input.shape[0]},"
            f" {{grid}} has {grid.shape[0]}",
            Place("grid", 0),
            Place("input", 0),
            grid.shape[0],
            input.shape[0],
            (Grant("grid", resized(grid, 0, input.shape[0])),),
        )
    return same_dtype(("grid", grid), ("input", input))


@needs("torch.nn.functional.affine_grid")
def affine_grid(theta: Meta, size: Any, align_corners: Any = None) -> Unmet | None:
    """A 2x3 matrix for each image, 3x4 for volumes."""
    sizes = tuple(size)
    if len(sizes) not in (4, 5) or prod(sizes) < 1:
        return None
    rows = len(sizes) - 2
    wanted = (sizes[0], rows, rows + 1)
    if theta.shape == wanted:
        return None
    return Unmet(
        "theta-shape",
        f"{{op}} takes a matrix for each image {text(wanted)}, got {{theta}}"
        f" {text(theta.shape)}",
        Place("theta"),
        has=text(theta.shape),
        needs=text(wanted),
        grants=(Grant("theta", Made(wanted, theta.dtype)),),
    )
