"""A drawing as a picture of pixels: the SVG, rendered by resvg, by day.

resvg is an optional extra (`shapewright[png]`): one wheel, which needs nothing of the
system but a font.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from struct import pack
from zlib import crc32

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER_END = len(SIGNATURE) + 25
"""Where the first chunk, which has the size, ends."""
NOTE = b"Software\0shapewright explain"
"""How a PNG of ours says that it is; the key is one of the format's own."""
SCALE = 2.0
"""Pixels of the picture for one of the drawing."""


class NoPicture(ValueError):
    """Why there is no PNG, in a sentence."""


def missing() -> str:
    """What a PNG still needs here; nothing where all is there."""
    if find_spec("resvg_py") is None:
        return "a PNG needs resvg: `pip install 'shapewright[png]'`"
    if not has_letters():
        return "a PNG needs a font, and no font is installed here"
    return ""


def png(svg: str, scale: float = SCALE) -> bytes:
    """The picture of an SVG; `NoPicture` where the extra or a font is missing."""
    if said := missing():
        raise NoPicture(said)
    return noted(rendered(svg, scale))


def rendered(svg: str, scale: float = 1.0) -> bytes:
    """What resvg makes of an SVG."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale))


@cache
def has_letters() -> bool:
    """Whether text leaves a trace: resvg leaves it out where there is no font."""
    empty, full = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
        f'<text y="16" font-family="monospace">{text}</text></svg>'
        for text in ("", "H")
    )
    return rendered(empty) != rendered(full)


def noted(picture: bytes) -> bytes:
    """The same picture, with the note of who made it after its first chunk."""
    assert picture.startswith(SIGNATURE)
    kind = b"tEXt" + NOTE
    chunk = pack(">I", len(NOTE)) + kind + pack(">I", crc32(kind))
    return picture[:HEADER_END] + chunk + picture[HEADER_END:]
