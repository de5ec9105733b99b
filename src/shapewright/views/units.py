"""Counts, bytes and times as a person reads them."""

from __future__ import annotations

_DECIMAL = ("", " k", " M", " G", " T", " P", " E", " Z", " Y")
_BINARY = (" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB", " YiB")


def count(number: int) -> str:
    """A count in thousands: ``156``, ``62.0 k``, ``124.4 M``, ``405.9 G``."""
    return _scaled(number, 1000, _DECIMAL)


def nbytes(number: int) -> str:
    """Bytes in powers of 1024: ``156 B``, ``18.4 MiB``, ``1.5 GiB``."""
    return _scaled(number, 1024, _BINARY)


def flops(number: int) -> str:
    """Floating-point operations: ``32.2 GFLOPs``, ``640 FLOPs``."""
    text = count(number)
    return f"{text}FLOPs" if " " in text else f"{text} FLOPs"


def duration(seconds: float) -> str:
    """A time: ``420 us``, ``4.2 ms``, ``1.3 s``, ``2 min 5 s``."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.{1 if seconds < 0.1 else 0}f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def times(number: int) -> str:
    """How often: ``once``, ``twice``, ``12 times``."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def plural(number: int, one: str, many: str = "") -> str:
    """``1 op``, ``12 ops``, ``0 ops``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _scaled(number: int, base: int, units: tuple[str, ...]) -> str:
    if abs(number) < base:
        return f"{number}{units[0]}"
    scaled, place = float(number), 0
    while round(abs(scaled), 1) >= base and place < len(units) - 1:
        scaled, place = scaled / base, place + 1
    return f"{scaled:.1f}{units[place]}"
