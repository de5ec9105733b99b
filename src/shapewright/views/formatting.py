"""Format shapes, counts, bytes and times; style lines for a terminal or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from unicodedata import combining, east_asian_width

from shapewright.record.ops import Fact, ModuleCall, collect_leaves
from shapewright.sizes.demands import (
    Always,
    AtLeast,
    Between,
    Both,
    Demand,
    EqualSizes,
    Multiple,
    SizeAtMost,
    Square,
)
from shapewright.sizes.expressions import Expression, Letter

MOST_TEXT = 24
"""Characters of a plain value before it is cut."""


def format_shape(fact: Fact) -> str:
    """Return ``(1024, 10)``, ``(10,)`` or ``()``, with the layout if not strided.

    ``(16, 2)?`` if the shape rests on an assumption.
    """
    text = _format_sizes(fact.shape)
    if fact.layout != "strided":
        return f"{text} {fact.layout}"
    return f"{text}?" if fact.unknown else text


def with_dtype(fact: Fact) -> str:
    """Return the shape with its dtype: ``(1024, 10) f32``."""
    return f"{format_shape(fact)} {fact.short_dtype}"


def format_nest(value: Any, dtype: bool = True) -> str:
    """Return nested facts as text, with equal neighbors folded and a common dtype last.

    Example: a dict of a tensor and twelve caches reads
    ``{hidden: (2, 16, 768), cache: [12 x (2, 12, 16, 64)]} bf16``.
    """
    dtypes = {fact.short_dtype for fact in collect_leaves(value)}
    if not dtype or not dtypes:
        return _format_nest(value, format_shape)
    if len(dtypes) > 1:
        return _format_nest(value, with_dtype)
    return f"{_format_nest(value, format_shape)} {dtypes.pop()}"


def format_arguments(call: ModuleCall, dtype: bool = True) -> str:
    """Return the inputs of a module call: ``(8, 32), mask=(8, 32) bool``."""
    args, kwargs = call.inputs
    dtypes = {fact.short_dtype for fact in collect_leaves([args, kwargs])}
    leaf = with_dtype if dtype and len(dtypes) > 1 else format_shape
    parts = fold_parts([_format_nest(value, leaf) for value in args])
    parts += [
        f"{name}={_format_nest(value, leaf)}"
        for name, value in kwargs.items()
        if value is not None and value is not False
    ]
    text = ", ".join(parts)
    return f"{text} {dtypes.pop()}" if dtype and len(dtypes) == 1 else text


def format_shapes(facts: Iterable[Fact]) -> str:
    """Return the shapes of facts, equal neighbors folded: ``3 x (1, 128, 768)``."""
    return ", ".join(fold_parts([format_shape(fact) for fact in facts]))


def format_results(facts: Iterable[Fact]) -> str:
    """Return shapes with dtypes: ``3 x (1, 128, 768) f32``."""
    facts = tuple(facts)
    dtypes = {fact.short_dtype for fact in facts}
    if len(dtypes) == 1:
        return f"{format_shapes(facts)} {dtypes.pop()}"
    return ", ".join(fold_parts([with_dtype(fact) for fact in facts]))


def format_strides(facts: Iterable[Fact]) -> str:
    """Return the strides of facts: ``(98304, 64, 768, 1)``, or ``none`` if sparse."""
    return ", ".join(
        fold_parts(
            [
                "none" if fact.stride is None else _format_sizes(fact.stride)
                for fact in facts
            ]
        )
    )


def _format_sizes(sizes: tuple[int, ...]) -> str:
    inner = ", ".join(map(str, sizes))
    return f"({inner},)" if len(sizes) == 1 else f"({inner})"


def format_value(value: Any) -> str:
    """Return a plain value as the user would write it, cut if it is too long."""
    if isinstance(value, slice):
        ends = ["" if end is None else str(end) for end in (value.start, value.stop)]
        step = "" if value.step is None else f":{value.step}"
        return f"{ends[0]}:{ends[1]}{step}"
    text = "..." if value is ... else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."


def _format_nest(value: Any, leaf: Callable[[Fact], str]) -> str:
    if isinstance(value, Fact):
        return leaf(value)
    if isinstance(value, dict):
        pairs = [f"{key}: {_format_nest(item, leaf)}" for key, item in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        parts = fold_parts([_format_nest(item, leaf) for item in value])
        inner = ", ".join(parts)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(parts) == 1 and len(value) == 1 else f"({inner})"
    return format_value(value)


def fold_parts(parts: list[str]) -> list[str]:
    """Fold equal neighbors: three ``(2, 3)`` become ``3 x (2, 3)``."""
    folded_parts: list[str] = []
    at = 0
    while at < len(parts):
        end = at
        while end < len(parts) and parts[end] == parts[at]:
            end += 1
        folded_parts.append(parts[at] if end == at + 1 else f"{end - at} x {parts[at]}")
        at = end
    return folded_parts


_DECIMAL = ("", " k", " M", " G", " T", " P", " E", " Z", " Y")
_BINARY = (" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB", " YiB")


def format_count(number: int) -> str:
    """Return a count in thousands: ``156``, ``62.0 k``, ``124.4 M``, ``405.9 G``."""
    return _scale_number(number, 1000, _DECIMAL)


def format_nbytes(number: int) -> str:
    """Return bytes in powers of 1024: ``156 B``, ``18.4 MiB``, ``1.5 GiB``."""
    return _scale_number(number, 1024, _BINARY)


def format_flops(number: int) -> str:
    """Return floating-point operations: ``32.2 GFLOPs``, ``640 FLOPs``."""
    text = format_count(number)
    return f"{text}FLOPs" if " " in text else f"{text} FLOPs"


def format_duration(seconds: float) -> str:
    """Return a time: ``420 us``, ``4.2 ms``, ``1.3 s``, ``2 min 5 s``."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.{1 if seconds < 0.1 else 0}f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def format_times(number: int) -> str:
    """Return ``once``, ``twice`` or ``12 times``."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def format_plural(number: int, singular: str, many: str = "") -> str:
    """Return ``1 op``, ``12 ops`` or ``0 ops``."""
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def _scale_number(number: int, base: int, units: tuple[str, ...]) -> str:
    if abs(number) < base:
        return f"{number}{units[0]}"
    scaled, place = float(number), 0
    while round(abs(scaled), 1) >= base and place < len(units) - 1:
        scaled, place = scaled / base, place + 1
    return f"{scaled:.1f}{units[place]}"


def format_demand(demand: Demand) -> str:
    """Return ``H and W are multiples of 16``, or else the condition in Python syntax.

    >>> from shapewright.sizes.expressions import Letter
    >>> format_demand(Both((Multiple(Letter("H"), 16), Multiple(Letter("W"), 16))))
    'H and W are multiples of 16'
    """
    if isinstance(demand, Both):
        alike = _describe_both(demand)
        return alike or " and ".join(_add_brackets(part) for part in demand.parts)
    match demand:
        case Always():
            return "some sizes are refused, and no simple demand explains them"
        case Multiple(Letter(name), divisor, 0):
            return f"{name} is a multiple of {divisor}"
        case Multiple(size, divisor, 0):
            return f"{size} is a multiple of {divisor}"
        case Multiple(size, divisor, rest):
            return f"{size} is {rest} more than a multiple of {divisor}"
        case AtLeast(size, bound):
            return f"{size} is at least {bound}"
        case SizeAtMost(size, bound):
            return f"{size} is at most {bound}"
        case EqualSizes(left, right):
            return f"{left} equals {right}"
        case Square(size):
            return f"{size} is a square number"
    return str(demand)


def _describe_both(demand: Both) -> str:
    """Return a sentence on letters with the same condition, or an empty string."""
    heads, tails = [], set()
    for part in demand.parts:
        head, tail = _split(part)
        heads.append(head)
        tails.add(tail)
    if len(tails) > 1 or "" in tails or len(set(heads)) < len(heads):
        return ""
    names = ", ".join(heads[:-1]) + f" and {heads[-1]}"
    return f"{names} {tails.pop()}"


def _split(part: Demand) -> tuple[str, str]:
    """Return the subject of a demand and its predicate in the plural."""
    match part:
        case Multiple(size, divisor, 0):
            return _format_formula(size), f"are multiples of {divisor}"
        case AtLeast(size, bound):
            return _format_formula(size), f"are at least {bound}"
        case SizeAtMost(size, bound):
            return _format_formula(size), f"are at most {bound}"
        case Between(size, low, high) if low == high:
            return _format_formula(size), f"are {low}"
        case Between(size, low, high):
            return _format_formula(size), f"are from {low} to {high}"
    return "", ""


def _format_formula(size: Expression) -> str:
    """Return the formula as text."""
    return str(size)


def _add_brackets(part: Demand) -> str:
    """Return a demand as part of a longer sentence, in brackets if it contains "or"."""
    text = format_demand(part)
    return f"({text})" if " or " in text else text


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Branches of a tree, rules, arrows, and marks of what was left out."""

    tee: str = "├─ "
    last: str = "└─ "
    bar: str = "│  "
    rule: str = "│"
    arrow: str = "→"
    cut: str = "…"
    gap: str = "⋮"


UNICODE = Glyphs()
ASCII = Glyphs("|- ", "`- ", "|  ", "|", "->", "~", ":")


Segment = tuple[str, str]
"""Text and the name of its style; "" is plain."""
Line = list[Segment]

CODES = {
    "plain": "",
    "bold": "1",
    "edge": "2",
    "name": "36",
    "shape": "32",
    "error": "1;91",
    "warning": "1;33",
    "note": "1;36",
    "mark": "91",
    "title": "1",
    "head": "1;4",
    "read": "36",
    "where": "33",
    "out": "32",
    "read-cell": "1;36",
    "where-cell": "1;33",
    "out-cell": "1;32",
}
"""SGR codes of styles. The colours are of the terminal's own sixteen; of each hue the
one that can be read on more of the usual themes, red for instance as bright red
(`tests/views/contrast.py`). Nothing but lines and branches is faint: faint text is hard
to read on light themes. No colour alone says anything.
"""


@dataclass(frozen=True, slots=True)
class Terminal:
    """The properties of the output device; a pipe has 100 columns and no colors.

    `notes` is how many notes a finding has below its source, None for all of them.
    """

    width: int = 100
    colour: bool = False
    glyphs: Glyphs = UNICODE
    notes: int | None = None


def render_lines(lines: Iterable[Line], colour: bool) -> str:
    """Return the text of lines, each ended and without trailing blanks."""
    join = _render_coloured if colour else _render_plain
    return "".join([f"{join(line)}\n" for line in lines])


def _render_plain(line: Line) -> str:
    return "".join([text for text, _ in line]).rstrip()


def _render_coloured(line: Line) -> str:
    width = len(_render_plain(line))
    pieces = []
    for text, style in line:
        text = text[:width]
        width -= len(text)
        code = CODES.get(style)
        painted = code and text.strip()
        pieces.append(f"\x1b[{code}m{text}\x1b[0m" if painted else text)
    return "".join(pieces).rstrip()


def count_cells(text: str) -> int:
    """Return how many columns a terminal uses for the text: 2 for a wide character."""
    if text.isascii():
        return len(text)
    return sum(_count_letter_cells(letter) for letter in text)


def _count_letter_cells(letter: str) -> int:
    if combining(letter):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut_text(text: str, width: int, mark: str) -> str:
    """Return the text in at most `width` columns; `mark` replaces a cut-off end.

    It is cut between words, where any word is left then.
    """
    if count_cells(text) <= width:
        return text
    room = width - count_cells(mark)
    if room <= 0:
        return mark[:width]
    at, used = 0, 0
    for letter in text:
        used += _count_letter_cells(letter)
        if used > room:
            break
        at += 1
    kept = text[:at].rstrip()
    if text[at].isalnum() and text[at - 1 : at].isalnum():
        whole = kept
        while whole and whole[-1].isalnum():
            whole = whole[:-1]
        if any(letter.isalnum() for letter in whole):
            kept = whole.rstrip()
    return kept + mark


def cut_left(text: str, width: int, mark: str) -> str:
    """Return the text cut at its beginning: ``…attn.c_proj``."""
    turned = cut_text(text[::-1], width, mark[::-1])
    return turned[::-1]


def pad(text: str, width: int, right: bool = False) -> str:
    """Return the text padded with blanks to `width` columns."""
    if text.isascii():
        return text.rjust(width) if right else text.ljust(width)
    blanks = " " * (width - count_cells(text))
    return blanks + text if right else text + blanks
