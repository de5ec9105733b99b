"""What padding, resizing and shuffling of images need."""

from __future__ import annotations

from math import floor
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.kinds import no_bools, real_floats
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import resized, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import of_positive

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
        return of_pairs(input, pad, mode)
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
    return no_bools(("input", input)) if mode in ("reflect", "replicate") else None


def of_pairs(input: Meta, pad: Any, mode: str) -> Unmet | None:
    """A pair for each dim behind the channels, a batch or none before them."""
    rank, pairs = len(input.shape), len(pad) // 2
    fits = min(max(pairs, rank - 2, 1), rank - 1, 3)
    grants: tuple[Grant, ...] = ()
    if rank in (fits + 1, fits + 2):
        kept = tuple(pad[: 2 * fits])
        grants = (Grant("pad", (*kept, *(0,) * (2 * fits - len(kept)))),)
    return Unmet(
        "padding-pairs",
        f"{{op}} with `{mode}` takes two numbers for each dim behind batch and channels"
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
    """Batch, channels, and a place."""
    wrong = of_image(input, "batch, channels, length") or of_positive("size", size)
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
    wrong = of_positive("size", size) if size is not None else None
    wrong = wrong or of_scale(input, scale_factor, mode)
    if wrong is None and mode.startswith("nearest"):
        return no_bools(("input", input))
    return wrong or (real_floats(("input", input)) if input.dtype != "uint8" else None)


def of_scale(input: Meta, scale: Any, mode: str) -> Unmet | None:
    """A factor that leaves at least one pixel."""
    spatial = len(input.shape) - 2
    factors = tuple(scale) if isinstance(scale, tuple | list) else (scale,) * spatial
    for at, factor in enumerate(factors):
        if not isinstance(factor, int | float):
            return None
        size = input.shape[2 + at]
        if floor(size * factor) >= 1 or mode == "area":
            continue
        return Unmet(
            "not-positive",
            f"{{op}} makes {size}·{factor} of dim {2 + at} of {{input}}"
            f" {text(input.shape)}, which is less than 1",
            Place("input", 2 + at),
            has=size,
            needs=1,
            grants=(Grant("scale_factor", 1),),
            guessed=True,
        )
    return None


def of_image(input: Meta, what: str = "channels, height, width") -> Unmet | None:
    """Channels, height and width."""
    rank = len(input.shape)
    if rank >= 3:
        return None
    made = (*(1,) * (3 - rank), *input.shape)
    return Unmet(
        "wrong-rank",
        f"{{op}} takes at least 3 dims ({what}), got {rank}: {{input}} is"
        f" {text(input.shape)}",
        Place("input"),
        has=rank,
        needs=3,
        grants=(Grant("input", Made(made, input.dtype)),),
        guessed=True,
    )


@needs("torch.pixel_shuffle")
def pixel_shuffle(input: Meta, upscale_factor: int) -> Unmet | None:
    """Channels that the square of the factor divides."""
    wrong = of_image(input) or of_positive("upscale_factor", upscale_factor)
    if wrong is not None:
        return wrong
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
    wrong = of_image(input) or of_positive("downscale_factor", downscale_factor)
    if wrong is not None:
        return wrong
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
