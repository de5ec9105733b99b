"""What Fourier transforms need: real numbers or complex, points, dims."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.dims import of_dim
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dims, dtype_unmet, resized, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import KIND, TO_REAL

HALVES = ("float16", "bfloat16", "complex32")
REAL = frozenset("rfft rfft2 rfftn ihfft ihfft2 ihfftn".split())
"""Take real numbers."""
MIRRORED = frozenset("irfft irfft2 irfftn hfft hfft2 hfftn".split())
"""Take the first half of frequencies, n of them, and give 2·(n - 1) numbers."""


def of_numbers(word: str, input: Meta) -> Unmet | None:
    """Whether complex numbers are taken, and how wide."""
    if word in REAL and KIND.get(input.dtype) == 3:
        real = TO_REAL.get(input.dtype, "float32")
        wanted = "float32" if real in HALVES else real
        return dtype_unmet("input", input, wanted, "{op} takes real numbers")
    if input.dtype in HALVES:
        wanted = "complex64" if input.dtype == "complex32" else "float32"
        return dtype_unmet("input", input, wanted, "{op} takes float32 or float64")
    return None


def of_points(
    word: str, input: Meta, dim: int, count: Any, last: bool, argument: str, fits: Any
) -> Unmet | None:
    """At least one point along a dim; `count` is what the call asks for."""
    size = input.shape[dim]
    if type(count) is int:
        if count >= 1:
            return None
        return Unmet(
            "fourier-points",
            f"{{op}} needs at least 1 point along dim {dim} of {{input}}"
            f" {text(input.shape)}, got `{argument}` with {count}",
            None,
            None,
            count,
            1,
            (Grant(argument, fits),),
            guessed=True,
        )
    mirrored = last and word in MIRRORED
    if (2 * (size - 1) if mirrored else size) >= 1:
        return None
    shown = f"2·({size} - 1) = {2 * (size - 1)}" if mirrored else str(size)
    return Unmet(
        "fourier-points",
        f"{{op}} needs at least 1 point along dim {dim} of {{input}}"
        f" {text(input.shape)}, got {shown}",
        Place("input", dim),
        None,
        size,
        2 if mirrored else 1,
        (Grant("input", resized(input, dim, 2 if mirrored else 1)),),
        guessed=True,
    )


def of_scalar(input: Meta) -> Unmet | None:
    """A dim to transform."""
    if input.shape:
        return None
    return Unmet(
        "wrong-rank",
        "{op} takes at least 1 dim of {input}, got a scalar",
        Place("input"),
        has=0,
        needs=1,
        grants=(Grant("input", Made((2,), input.dtype)),),
    )


def along_one(word: str) -> None:
    """Register a transform along one dim."""

    def transform(
        input: Meta, n: Any = None, dim: Any = -1, norm: Any = None, **options: Any
    ) -> Unmet | None:
        wrong = of_scalar(input) or of_dim("input", input, dim)
        wrong = wrong or of_numbers(word, input)
        if wrong is not None or type(dim) is not int:
            return wrong
        return of_points(word, input, dim % len(input.shape), n, True, "n", None)

    needs(f"torch.fft.{word}")(transform)


def along_several(word: str, usual: tuple[int, ...] | None) -> None:
    """Register a transform along several dims."""

    def transform(
        input: Meta, s: Any = None, dim: Any = usual, norm: Any = None, **options: Any
    ) -> Unmet | None:
        sizes = (s,) if type(s) is int else s
        wrong = of_dim("input", input, dim) if dim is not None else None
        wrong = wrong or of_sizes(input, sizes, dim)
        if wrong is not None:
            return wrong
        rank = len(input.shape)
        count = rank if sizes is None else len(sizes)
        named = range(rank - count, rank) if dim is None else dim
        along = [d % rank for d in ((named,) if type(named) is int else named)]
        if not along and word not in ("fftn", "ifftn"):
            return of_scalar(input)
        for n, at in enumerate(along):
            asked = None if sizes is None or sizes[n] == -1 else sizes[n]
            fits = None if sizes is None else [max(each, 1) for each in sizes]
            last = n + 1 == len(along)
            wrong = wrong or of_points(word, input, at, asked, last, "s", fits)
        return wrong or of_numbers(word, input)

    needs(f"torch.fft.{word}")(transform)


def of_sizes(input: Meta, sizes: Any, dim: Any) -> Unmet | None:
    """As many sizes as dims that are transformed."""
    if sizes is None:
        return None
    wanted = len(input.shape)
    if dim is not None:
        wanted = 1 if type(dim) is int else len(dim)
    have = len(sizes)
    if have == wanted or (dim is None and have < wanted):
        return None
    several = f"{wanted} sizes" if wanted != 1 else "1 size"
    which = f"dims {tuple(dim)}" if isinstance(dim, tuple | list) else dims(wanted)
    fits = [*sizes[:wanted], *(-1,) * (wanted - have)]
    return Unmet(
        "fourier-sizes",
        f"{{op}} takes {several} as `s`, one for each of {which} of {{input}}"
        f" {text(input.shape)}, got {have}",
        None,
        None,
        have,
        wanted,
        (Grant("s", fits),),
        guessed=True,
    )


for _word in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    along_one(_word)
    along_several(f"{_word}2", (-2, -1))
    along_several(f"{_word}n", None)


@needs("torch.fft.fftshift", "torch.fft.ifftshift")
def shift(input: Meta, dim: Any = None) -> Unmet | None:
    """Dims that are there."""
    return of_scalar(input) or (
        of_dim("input", input, dim) if type(dim) is int else of_each(input, dim)
    )


def of_each(input: Meta, dim: Any) -> Unmet | None:
    """Dims that are there; naming one twice is allowed."""
    wrong = of_dim("input", input, dim)
    return wrong if wrong is not None and wrong.code == "dim-out-of-range" else None
