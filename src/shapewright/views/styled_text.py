"""Lines of styled text, lowered to plain text or to a terminal's colours, and the
drawing characters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import combining, east_asian_width


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
    "bold": "1",
    "dim": "2",
    "name": "38;5;31",
    "shape": "38;5;28",
    "error": "1;38;5;160",
    "warning": "1;38;5;130",
    "note": "1;38;5;31",
    "edge": "38;5;32",
    "mark": "38;5;160",
    "title": "1",
    "head": "2",
    "read": "38;5;32",
    "where": "38;5;130",
    "out": "38;5;28",
    "read-cell": "1;38;5;32",
    "where-cell": "1;38;5;130",
    "out-cell": "1;38;5;28",
}
"""SGR codes of styles. The colours are of the table of 256, which no theme changes, and
of middle lightness: they can be read on black and on white, as yellow and cyan cannot.
"""


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a page is written for. Output to a pipe is 100 wide, without colours."""

    width: int = 100
    colour: bool = False
    glyphs: Glyphs = UNICODE


def lower(lines: Iterable[Line], colour: bool) -> str:
    """The text of lines, each without blanks at its end, each ended."""
    join = _coloured if colour else _plain
    return "".join([f"{join(line)}\n" for line in lines])


def _plain(line: Line) -> str:
    return "".join([text for text, _ in line]).rstrip()


def _coloured(line: Line) -> str:
    width = len(_plain(line))
    made = []
    for text, style in line:
        text = text[:width]
        width -= len(text)
        code = CODES.get(style)
        painted = code and text.strip()
        made.append(f"\x1b[{code}m{text}\x1b[0m" if painted else text)
    return "".join(made).rstrip()


def cells(text: str) -> int:
    """How many columns a terminal gives the text: 2 for wide characters."""
    if text.isascii():
        return len(text)
    return sum(_cells(letter) for letter in text)


def _cells(letter: str) -> int:
    if combining(letter):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int, mark: str) -> str:
    """The text in at most `width` columns; `mark` stands where its end is missing."""
    if cells(text) <= width:
        return text
    room = width - cells(mark)
    if room <= 0:
        return mark[:width]
    kept, used = [], 0
    for letter in text:
        used += _cells(letter)
        if used > room:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + mark


def cut_left(text: str, width: int, mark: str) -> str:
    """As `cut`, with the beginning missing: ``…attn.c_proj``."""
    turned = cut(text[::-1], width, mark[::-1])
    return turned[::-1]


def pad(text: str, width: int, right: bool = False) -> str:
    """The text filled with blanks to `width` columns."""
    if text.isascii():
        return text.rjust(width) if right else text.ljust(width)
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks
