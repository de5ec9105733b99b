"""A drawing as a picture of pixels: the SVG, rendered by resvg, by day.

resvg is an optional extra (`shapewright[png]`), which brings two free fonts. Nothing of
the system is used, its fonts neither: the same drawing gives the same bytes everywhere.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from struct import pack
from zlib import crc32

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER_END = len(SIGNATURE) + 25
"""Where the first chunk, which has the size, ends."""
NOTE = b"Software\0shapewright explain"
"""How a PNG of ours says that it is; the key is one of the format's own."""
SCALE = 2.0
"""Pixels of the picture for one of the drawing."""


MONO, SANS = "JetBrains Mono", "Inter"
FONTS = {
    MONO: ("fontpkg_jetbrains_mono", "JetBrainsMono[wght].ttf"),
    SANS: ("fontpkg_inter", "Inter[opsz,wght].ttf"),
}
"""The fonts of a picture: the package that has each, and its file there."""


class NoPicture(ValueError):
    """Why there is no PNG, in a sentence."""


def missing() -> str:
    """What a PNG still needs here; nothing where all is there."""
    if find_spec("resvg_py") is None or None in map(find_font, FONTS):
        return "a PNG needs resvg and its fonts: `pip install 'shapewright[png]'`"
    return ""


def png(svg: str, scale: float = SCALE) -> bytes:
    """The picture of an SVG; `NoPicture` where the extra is missing."""
    if said := missing():
        raise NoPicture(said)
    return noted(rendered(svg, scale))


def rendered(svg: str, scale: float = 1.0) -> bytes:
    """What resvg makes of an SVG, with our fonts alone."""
    import resvg_py

    picture = resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=scale,
        skip_system_fonts=True,
        font_files=[file for family in FONTS if (file := find_font(family))],
        font_family=SANS,
        sans_serif_family=SANS,
        monospace_family=MONO,
    )
    return bytes(picture)


@cache
def find_font(family: str) -> str | None:
    """The file of a font that the extra brings; None where it is not installed."""
    package, name = FONTS[family]
    found = find_spec(package)
    for folder in found.submodule_search_locations or () if found else ():
        file = Path(folder, "files", name)
        if file.is_file():
            return str(file)
    return None


def noted(picture: bytes) -> bytes:
    """The same picture, with the note of who made it after its first chunk."""
    assert picture.startswith(SIGNATURE)
    kind = b"tEXt" + NOTE
    chunk = pack(">I", len(NOTE)) + kind + pack(">I", crc32(kind))
    return picture[:HEADER_END] + chunk + picture[HEADER_END:]
