"""A drawing that shows itself in a terminal or a notebook, and saves itself as text,
SVG, PNG or JSON.

resvg is an optional extra (`shapewright[png]`), which brings two free fonts. Nothing of
the system is used, not even its fonts: the same drawing gives the same bytes
everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from struct import pack
from zlib import crc32

from shapewright.index_maps.drawn_calls import Drawn, Stored
from shapewright.index_maps.json_codec import decode, encode
from shapewright.views.drawing.call_sections import (
    describe_tensor_costs,
    format_backward_lines,
    format_cost_lines,
    format_dispatch_lines,
)
from shapewright.views.drawing.chains import draw_chain_svg, format_chain
from shapewright.views.drawing.grids import BOXES, PLAIN
from shapewright.views.drawing.line_page import (
    DrawnLine,
    draw_line_svg,
    format_line_text,
)
from shapewright.views.drawing.storage import draw_tensor_svg, format_tensor_text
from shapewright.views.drawing.svg_canvas import style
from shapewright.views.drawing.svg_page import draw_svg
from shapewright.views.drawing.text_page import format_page

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER_END = len(SIGNATURE) + 25
"""The end of the first chunk, which has the size."""
NOTE = b"Software\0shapewright explain"
"""The mark of our PNGs; the key is defined by the format."""
SCALE = 2.0
"""Pixels of the picture for each unit of the drawing."""


MONO, SANS = "JetBrains Mono", "Inter"
FONTS = {
    MONO: ("fontpkg_jetbrains_mono", "JetBrainsMono[wght].ttf"),
    SANS: ("fontpkg_inter", "Inter[opsz,wght].ttf"),
}
"""The fonts of a picture: the package that has each, and its file there."""


class _NoPicture(ValueError):
    """Raised if a PNG cannot be made; the message is a sentence with the reason."""


def _find_missing() -> str:
    """Return what is missing for a PNG, or an empty string if nothing is missing."""
    if find_spec("resvg_py") is None or None in map(_find_font, FONTS):
        return "a PNG needs resvg and its fonts: `pip install 'shapewright[png]'`"
    return ""


def _render_png(svg: str, scale: float = SCALE) -> bytes:
    """Return the PNG of an SVG; raise `_NoPicture` if the extra is missing."""
    if missing := _find_missing():
        raise _NoPicture(missing)
    return _add_note(render_svg(svg, scale))


def render_svg(svg: str, scale: float = 1.0) -> bytes:
    """Render an SVG with resvg, using only the fonts of the extra."""
    import resvg_py

    picture = resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=scale,
        skip_system_fonts=True,
        font_files=[file for family in FONTS if (file := _find_font(family))],
        font_family=SANS,
        sans_serif_family=SANS,
        monospace_family=MONO,
    )
    return bytes(picture)


@cache
def _find_font(family: str) -> str | None:
    """Return the file of a font of the extra, or None if it is not installed."""
    package, name = FONTS[family]
    spec = find_spec(package)
    for folder in spec.submodule_search_locations or () if spec else ():
        file = Path(folder, "files", name)
        if file.is_file():
            return str(file)
    return None


def _add_note(picture: bytes) -> bytes:
    """Return the PNG with a note of the program after its first chunk."""
    assert picture.startswith(SIGNATURE)
    kind = b"tEXt" + NOTE
    chunk = pack(">I", len(NOTE)) + kind + pack(">I", crc32(kind))
    return picture[:HEADER_END] + chunk + picture[HEADER_END:]


ENDINGS = (".svg", ".txt", ".png")
TEXT_MARK = "# shapewright explain\n"


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A drawn call, tensor, or line of a program.

    Example::

        drawing = sw.explain(torch.gather, x, 0, index)
        print(drawing)  # 80 columns of text
        drawing.save("gather.svg")

    A notebook shows it as SVG. `drawn` is its content as data, `before` the calls of a
    chain that lead to it. `costs`, `autograd` and `dispatch` are texts: the full notes
    beside the picture.
    """

    drawn: Drawn | Stored | DrawnLine
    before: tuple[Drawn, ...] = ()

    def text(
        self,
        width: int = 80,
        ascii: bool = False,
        inside: bool = False,
        colour: bool = False,
    ) -> str:
        """Return text of at most `width` columns if the formulas allow it.

        `inside` adds `costs`, `autograd` and `dispatch`, if it is a call; `colour`
        paints the role of each tensor, with the codes of a terminal.
        """
        strokes = replace(PLAIN if ascii else BOXES, colour=colour)
        if isinstance(self.drawn, Stored):
            return format_tensor_text(self.drawn, width, strokes).rstrip("\n")
        if isinstance(self.drawn, DrawnLine):
            return format_line_text(self.drawn, width, strokes, inside).rstrip("\n")
        if self.before:
            steps = (*self.before, self.drawn)
            return format_chain(steps, width, strokes, inside).rstrip("\n")
        return format_page(self.drawn, width, strokes, inside).rstrip("\n")

    @property
    def costs(self) -> str:
        """Return the costs of the call or tensor: one call beside the naive loop.

        Example: ``print(sw.explain("f32[2, 3] @ f32[3, 4]").costs)``.
        """
        if isinstance(self.drawn, Stored):
            return "\n".join(describe_tensor_costs(self.drawn))
        if isinstance(self.drawn, DrawnLine):
            return ""
        return "\n".join(format_cost_lines(self.drawn)) if self.drawn.outputs else ""

    @property
    def autograd(self) -> str:
        """Return the backward pass, its kept tensors, and all gradients."""
        if isinstance(self.drawn, Stored):
            return "\n".join(self.drawn.notes)
        if isinstance(self.drawn, DrawnLine):
            return ""
        return "\n".join(format_backward_lines(self.drawn)) if self.drawn.beside else ""

    @property
    def dispatch(self) -> str:
        """Return the operators and dispatch keys between the call and its kernels."""
        if isinstance(self.drawn, Stored | DrawnLine) or self.drawn.beside is None:
            return ""
        return "\n".join(format_dispatch_lines(self.drawn))

    def svg(self, width: float = 760) -> str:
        """Return one self-contained SVG, `width` pixels wide, for light and dark."""
        if isinstance(self.drawn, Stored):
            return draw_tensor_svg(self.drawn, width)
        if isinstance(self.drawn, DrawnLine):
            return draw_line_svg(self.drawn, width)
        if self.before:
            return draw_chain_svg((*self.before, self.drawn), width)
        return draw_svg(self.drawn, width)

    def png(self, width: float = 760, scale: float = 2) -> bytes:
        """Return a PNG in light colours, with `scale` pixels for each of the SVG.

        Needs the extra `shapewright[png]`; raises `ValueError` if it is missing.
        """
        return _render_png(self.svg(width), scale)

    def save(self, path: str | Path) -> None:
        """Write the drawing to a file, as its ending `.svg`, `.png` or `.txt` requires.

        An old file is replaced. Raises `ValueError` for another ending, and for a PNG
        if `shapewright[png]` is not installed.
        """
        file = Path(path)
        file.write_bytes(self.saved(file))

    def saved(self, path: Path) -> bytes:
        """Return the bytes that `save` writes."""
        refusal = explain_unsaved(path)
        if refusal:
            raise ValueError(refusal)
        if path.suffix == ".png":
            return self.png()
        text = self.svg() if path.suffix == ".svg" else f"{TEXT_MARK}{self.text()}\n"
        return text.encode()

    def to_json(self, indent: int | None = None) -> str:
        """Return versioned JSON: tensors with their values, index maps as expressions.

        Raises `ValueError` for a line of a program, which has a drawing of each call.
        """
        if isinstance(self.drawn, DrawnLine):
            raise ValueError("a line of a program has no JSON form of its own")
        return encode(self.drawn, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Drawing:
        """Read the text that `to_json` returns, also on a machine without torch.

        Raises `UnreadableDrawing`, a `ValueError`, with one sentence for other text.
        """
        return cls(decode(text))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        """Return HTML in the colours of the notebook's theme, whatever the system's."""
        return f"<div>{self.svg()}<style>{_build_theme()}</style></div>"


def explain_unsaved(path: Path) -> str:
    """Return why a drawing cannot be saved under a file name, or "" if it can be."""
    if path.suffix not in ENDINGS:
        return f"`{path}`: a drawing is written to .svg, .png or .txt"
    reason = _find_missing() if path.suffix == ".png" else ""
    return f"{reason}, or write `{path.with_suffix('.svg')}`" if reason else ""


def _build_theme() -> str:
    """Return the style sheet for the themes of Jupyter and VS Code."""
    themes = {
        False: ('[data-jp-theme-light="true"]', ".vscode-light"),
        True: ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]'),
    }
    return "\n".join(
        f"{theme} {rule}"
        for night, every in themes.items()
        for theme in every
        for rule in style(night).splitlines()
    )
