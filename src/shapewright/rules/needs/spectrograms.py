"""What spectrograms need: samples for a frame, a window of its length."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dtype_unmet, resized, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import KIND


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
    """A signal that is long enough, and a window as long as is said."""
    shape = input.shape
    rank = len(shape)
    if rank not in (1, 2):
        return of_signal(input)
    size, half = shape[-1], n_fft // 2
    needed = n_fft
    why = f"n_fft = {n_fft}"
    if center:
        needed = half + 1 if pad_mode == "reflect" else 1
        why = f"n_fft // 2 + 1 = {needed}"
    if n_fft > 0 and size < needed:
        return Unmet(
            "signal-too-short",
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
        return dtype_unmet("input", input, "float32", "{op} takes floats")
    return of_window(n_fft, hop_length, win_length, window)


def of_signal(input: Meta) -> Unmet:
    """Samples, or a batch of them."""
    shape = input.shape
    grants: tuple[Grant, ...] = ()
    if shape:
        made = (prod(shape[:-1]), shape[-1])
        grants = (Grant("input", Made(made, input.dtype)),)
    return Unmet(
        "wrong-rank",
        f"{{op}} takes 2 dims (batch, samples), or 1, got {len(shape)}: {{input}} is"
        f" {text(shape)}",
        Place("input"),
        has=len(shape),
        needs=2,
        grants=grants,
        guessed=True,
    )


def of_window(n_fft: int, hop: Any, length: Any, window: Any) -> Unmet | None:
    """A window is at most `n_fft` long, and as long as `win_length` says."""
    if n_fft < 1:
        return Unmet(
            "window-length",
            f"{{op}} takes an `n_fft` of at least 1, got {n_fft}",
            None,
            None,
            n_fft,
            1,
            guessed=True,
        )
    if type(length) is int and not 0 < length <= n_fft:
        return Unmet(
            "window-length",
            f"{{op}} takes a `win_length` of 1 to n_fft = {n_fft}, got {length}",
            None,
            None,
            length,
            n_fft,
            (Grant("win_length", n_fft),),
        )
    if type(hop) is int and hop < 1:
        return Unmet(
            "window-length",
            f"{{op}} takes a `hop_length` of at least 1, got {hop}",
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
    said = f"win_length = {wanted}" if length is not None else f"n_fft = {wanted}"
    one = len(window.shape) == 1
    return Unmet(
        "window-length",
        f"{{op}} needs a window of {said} samples, got {{window}} {text(window.shape)}",
        Place("window", 0 if one else None),
        None,
        window.shape[0] if one else text(window.shape),
        wanted if one else text((wanted,)),
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
    """Frequencies and frames as `stft` gives them, complex."""
    shape = input.shape
    rank = len(shape)
    if rank not in (2, 3):
        return Unmet(
            "wrong-rank",
            f"{{op}} takes 3 dims (batch, frequencies, frames), or 2, got {rank}:"
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
        return dtype_unmet("input", input, dtype, "{op} takes complex numbers")
    half = onesided is not False
    wanted = n_fft // 2 + 1 if half else n_fft
    have = shape[-2]
    if n_fft > 0 and have != wanted:
        said = f"n_fft // 2 + 1 = {wanted}" if half else f"n_fft = {wanted}"
        return Unmet(
            "frequency-count",
            f"{{op}} needs {said} frequencies in dim {rank - 2} of {{input}}"
            f" {text(shape)}, got {have}",
            Place("input", rank - 2),
            None,
            have,
            wanted,
            (Grant("input", resized(input, rank - 2, wanted)),),
        )
    wrong = of_window(n_fft, hop_length, win_length, window)
    length = n_fft if win_length is None else win_length
    if wrong is None and type(hop_length) is int and hop_length > length:
        return Unmet(
            "window-length",
            f"{{op}} takes a `hop_length` of at most the window's {length}, got"
            f" {hop_length}",
            None,
            None,
            hop_length,
            length,
            (Grant("hop_length", None),),
            guessed=True,
        )
    return wrong
