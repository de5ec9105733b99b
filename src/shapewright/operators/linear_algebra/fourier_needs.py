"""Needs of Fourier transforms and spectrograms."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.findings.codes import (
    DIM_OUT_OF_RANGE,
    FOURIER_POINTS,
    FOURIER_SIZES,
    FREQUENCY_COUNT,
    SIGNAL_TOO_SHORT,
    WINDOW_LENGTH,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dims,
    dtype_unmet,
    of_no_scalar,
    resized,
    text,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.promotion_and_broadcasting import KIND, TO_REAL
from shapewright.operators.reduction.needs import of_dim

HALVES = ("float16", "bfloat16", "complex32")
REAL = frozenset("rfft rfft2 rfftn ihfft ihfft2 ihfftn".split())
"""The transforms that take real numbers."""
MIRRORED = frozenset("irfft irfft2 irfftn hfft hfft2 hfftn".split())
"""The transforms of the first half of frequencies: n of them give 2·(n - 1) numbers."""


def _of_numbers(word: str, input: Meta) -> Unmet | None:
    """Check that the transform accepts the input's dtype and precision."""
    if word in REAL and KIND.get(input.dtype) == 3:
        real = TO_REAL.get(input.dtype, "float32")
        wanted = "float32" if real in HALVES else real
        return dtype_unmet("input", input, wanted, "{op} expects real numbers")
    if input.dtype in HALVES:
        wanted = "complex64" if input.dtype == "complex32" else "float32"
        return dtype_unmet("input", input, wanted, "{op} expects float32 or float64")
    return None


def _of_points(
    word: str, input: Meta, dim: int, count: Any, last: bool, argument: str, fits: Any
) -> Unmet | None:
    """Check that a dim has at least one point; `count` is the requested number."""
    size = input.shape[dim]
    if type(count) is int:
        if count >= 1:
            return None
        return Unmet(
            FOURIER_POINTS,
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
        FOURIER_POINTS,
        f"{{op}} needs at least 1 point along dim {dim} of {{input}}"
        f" {text(input.shape)}, got {shown}",
        Place("input", dim),
        None,
        size,
        2 if mirrored else 1,
        (Grant("input", resized(input, dim, 2 if mirrored else 1)),),
        guessed=True,
    )


def _along_one(word: str) -> None:
    """Register the need of a transform along one dim."""

    def transform(
        input: Meta, n: Any = None, dim: Any = -1, norm: Any = None, **options: Any
    ) -> Unmet | None:
        wrong = of_no_scalar(input, 2) or of_dim("input", input, dim)
        wrong = wrong or _of_numbers(word, input)
        if wrong is not None or type(dim) is not int:
            return wrong
        return _of_points(word, input, dim % len(input.shape), n, True, "n", None)

    needs(f"torch.fft.{word}")(transform)


def _along_several(word: str, usual: tuple[int, ...] | None) -> None:
    """Register the need of a transform along several dims."""

    def transform(
        input: Meta, s: Any = None, dim: Any = usual, norm: Any = None, **options: Any
    ) -> Unmet | None:
        sizes = (s,) if type(s) is int else s
        wrong = of_dim("input", input, dim) if dim is not None else None
        wrong = wrong or _of_sizes(input, sizes, dim)
        if wrong is not None:
            return wrong
        rank = len(input.shape)
        count = rank if sizes is None else len(sizes)
        named = range(rank - count, rank) if dim is None else dim
        along = [d % rank for d in ((named,) if type(named) is int else named)]
        if not along and word not in ("fftn", "ifftn"):
            return of_no_scalar(input, 2)
        for n, at in enumerate(along):
            asked = None if sizes is None or sizes[n] == -1 else sizes[n]
            fits = None if sizes is None else [max(size, 1) for size in sizes]
            last = n + 1 == len(along)
            wrong = wrong or _of_points(word, input, at, asked, last, "s", fits)
        return wrong or _of_numbers(word, input)

    needs(f"torch.fft.{word}")(transform)


def _of_sizes(input: Meta, sizes: Any, dim: Any) -> Unmet | None:
    """Check that there are as many sizes as transformed dims."""
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
        FOURIER_SIZES,
        f"{{op}} expects {several} as `s`, one for each of {which} of {{input}}"
        f" {text(input.shape)}, got {have}",
        None,
        None,
        have,
        wanted,
        (Grant("s", fits),),
        guessed=True,
    )


for _word in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _along_one(_word)
    _along_several(f"{_word}2", (-2, -1))
    _along_several(f"{_word}n", None)


@needs("torch.fft.fftshift", "torch.fft.ifftshift")
def shift(input: Meta, dim: Any = None) -> Unmet | None:
    """Check that the dims exist."""
    return of_no_scalar(input, 2) or (
        of_dim("input", input, dim) if type(dim) is int else _of_each(input, dim)
    )


def _of_each(input: Meta, dim: Any) -> Unmet | None:
    """Check that the dims exist; they may repeat."""
    wrong = of_dim("input", input, dim)
    return wrong if wrong is not None and wrong.code == DIM_OUT_OF_RANGE else None


@needs("torch.functional.stft")
def stft(
    input: Meta,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check that the signal is long enough and the window has length `win_length`."""
    shape = input.shape
    rank = len(shape)
    if rank not in (1, 2):
        return _of_signal(input)
    size, half = shape[-1], n_fft // 2
    needed = n_fft
    why = f"n_fft = {n_fft}"
    if center:
        needed = half + 1 if pad_mode == "reflect" else 1
        why = f"n_fft // 2 + 1 = {needed}"
    if n_fft > 0 and size < needed:
        return Unmet(
            SIGNAL_TOO_SHORT,
            f"{{op}} needs at least {why} samples in dim {rank - 1} of {{input}}"
            f" {text(shape)}, got {size}",
            Place("input", rank - 1),
            None,
            size,
            needed,
            (Grant("input", resized(input, rank - 1, needed)),),
            guessed=True,
        )
    if KIND.get(input.dtype, 2) < 2:
        return dtype_unmet("input", input, "float32", "{op} expects floats")
    return _of_window(n_fft, hop_length, win_length, window)


def _of_signal(input: Meta) -> Unmet:
    """Report an input whose shape is neither (samples,) nor (batch, samples)."""
    shape = input.shape
    grants: tuple[Grant, ...] = ()
    if shape:
        fitting = (prod(shape[:-1]), shape[-1])
        grants = (Grant("input", Made(fitting, input.dtype)),)
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects 2 dims (batch, samples), or 1, got {len(shape)}: {{input}} is"
        f" {text(shape)}",
        Place("input"),
        has=len(shape),
        needs=2,
        grants=grants,
        guessed=True,
    )


def _of_window(n_fft: int, hop: Any, length: Any, window: Any) -> Unmet | None:
    """Check that the window has length `win_length`, which is at most `n_fft`."""
    if n_fft < 1:
        return Unmet(
            WINDOW_LENGTH,
            f"{{op}} expects an `n_fft` of at least 1, got {n_fft}",
            None,
            None,
            n_fft,
            1,
            guessed=True,
        )
    if type(length) is int and not 0 < length <= n_fft:
        return Unmet(
            WINDOW_LENGTH,
            f"{{op}} expects a `win_length` of 1 to n_fft = {n_fft}, got {length}",
            None,
            None,
            length,
            n_fft,
            (Grant("win_length", n_fft),),
        )
    if type(hop) is int and hop < 1:
        return Unmet(
            WINDOW_LENGTH,
            f"{{op}} expects a `hop_length` of at least 1, got {hop}",
            None,
            None,
            hop,
            1,
            (Grant("hop_length", None),),
            guessed=True,
        )
    wanted = n_fft if length is None else length
    if window is None or window.shape == (wanted,):
        return None
    length_name = (
        f"win_length = {wanted}" if length is not None else f"n_fft = {wanted}"
    )
    is_vector = len(window.shape) == 1
    return Unmet(
        WINDOW_LENGTH,
        f"{{op}} needs a window of {length_name} samples, got {{window}}"
        f" {text(window.shape)}",
        Place("window", 0 if is_vector else None),
        None,
        window.shape[0] if is_vector else text(window.shape),
        wanted if is_vector else text((wanted,)),
        (Grant("window", Made((wanted,), window.dtype)),),
    )


@needs("torch.istft")
def istft(
    input: Meta,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check that the input holds complex frequencies and frames, as from `stft`."""
    shape = input.shape
    rank = len(shape)
    if rank not in (2, 3):
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 3 dims (batch, frequencies, frames), or 2, got {rank}:"
            f" {{input}} is {text(shape)}",
            Place("input"),
            has=rank,
            needs=3,
            grants=(Grant("input", Made((1, *shape)[-3:], input.dtype)),)
            if rank in (1, 4)
            else (),
            guessed=True,
        )
    if KIND.get(input.dtype) != 3:
        dtype = "complex128" if input.dtype == "float64" else "complex64"
        return dtype_unmet("input", input, dtype, "{op} expects complex numbers")
    half = onesided is not False
    wanted = n_fft // 2 + 1 if half else n_fft
    have = shape[-2]
    if n_fft > 0 and have != wanted:
        count = f"n_fft // 2 + 1 = {wanted}" if half else f"n_fft = {wanted}"
        return Unmet(
            FREQUENCY_COUNT,
            f"{{op}} needs {count} frequencies in dim {rank - 2} of {{input}}"
            f" {text(shape)}, got {have}",
            Place("input", rank - 2),
            None,
            have,
            wanted,
            (Grant("input", resized(input, rank - 2, wanted)),),
        )
    wrong = _of_window(n_fft, hop_length, win_length, window)
    length = n_fft if win_length is None else win_length
    if wrong is None and type(hop_length) is int and hop_length > length:
        return Unmet(
            WINDOW_LENGTH,
            f"{{op}} expects a `hop_length` of at most the window's {length}, got"
            f" {hop_length}",
            None,
            None,
            hop_length,
            length,
            (Grant("hop_length", None),),
            guessed=True,
        )
    return wrong
