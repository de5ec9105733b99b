"""A drawing that shows itself: in a terminal, in a notebook, in a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from shapewright.rules.maps.decode import decode
from shapewright.rules.maps.drawn import Drawn
from shapewright.rules.maps.encode import encode
from shapewright.rules.maps.stored import Stored
from shapewright.views.lab.backward import backward_lines
from shapewright.views.lab.canvas import style
from shapewright.views.lab.costs import cost_lines, tensor_costs
from shapewright.views.lab.grid import BOXES, PLAIN
from shapewright.views.lab.line_page import DrawnLine, svg_of_line, text_of_line
from shapewright.views.lab.png import missing, png
from shapewright.views.lab.svg import svg
from shapewright.views.lab.tensor_page import svg_of_tensor, text_of_tensor
from shapewright.views.lab.terminal import page
from shapewright.views.lab.way import way_lines

ENDINGS = (".svg", ".txt", ".png")
TEXT_MARK = "# shapewright explain\n"


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A drawn call, tensor, or line of a program.

    Example::

        drawing = sw.explain(torch.gather, x, 0, index)
        print(drawing)  # 80 columns of text
        drawing.save("gather.svg")

    A notebook shows it as SVG. `drawn` is what it was made from, as data. `costs`,
    `autograd` and `dispatch` are texts: what stands beside the picture, in full.
    """

    drawn: Drawn | Stored | DrawnLine

    def text(
        self,
        width: int = 80,
        ascii: bool = False,
        inside: bool = False,
        colour: bool = False,
    ) -> str:
        """As text of at most `width` columns where the formulas allow it.

        `inside` adds `costs`, `autograd` and `dispatch`, where it is a call; `colour`
        paints what each tensor does here, with the codes of a terminal.
        """
        strokes = replace(PLAIN if ascii else BOXES, colour=colour)
        if isinstance(self.drawn, Stored):
            return text_of_tensor(self.drawn, width, strokes).rstrip("\n")
        if isinstance(self.drawn, DrawnLine):
            return text_of_line(self.drawn, width, strokes).rstrip("\n")
        return page(self.drawn, width, strokes, inside).rstrip("\n")

    @property
    def costs(self) -> str:
        """What the call or the tensor costs: one call of torch beside the naive loop.

        Example: ``print(sw.explain("f32[2, 3] @ f32[3, 4]").costs)``.
        """
        if isinstance(self.drawn, Stored):
            return "\n".join(tensor_costs(self.drawn))
        if isinstance(self.drawn, DrawnLine):
            return ""
        return "\n".join(cost_lines(self.drawn)) if self.drawn.outputs else ""

    @property
    def autograd(self) -> str:
        """What backward runs, what is kept for it, and the gradient of each input."""
        if isinstance(self.drawn, Stored):
            return "\n".join(self.drawn.notes)
        if isinstance(self.drawn, DrawnLine):
            return ""
        return "\n".join(backward_lines(self.drawn)) if self.drawn.beside else ""

    @property
    def dispatch(self) -> str:
        """The operators and dispatch keys that the call goes through to its kernels."""
        if isinstance(self.drawn, Stored | DrawnLine) or self.drawn.beside is None:
            return ""
        return "\n".join(way_lines(self.drawn))

    def svg(self, width: float = 760) -> str:
        """As one self-contained SVG, `width` pixels wide, for light and dark."""
        if isinstance(self.drawn, Stored):
            return svg_of_tensor(self.drawn, width)
        if isinstance(self.drawn, DrawnLine):
            return svg_of_line(self.drawn, width)
        return svg(self.drawn, width)

    def png(self, width: float = 760, scale: float = 2) -> bytes:
        """As a picture of pixels, by day, `scale` of them for one of the SVG.

        Needs the extra `shapewright[png]`; a `ValueError` says so where it is missing.
        """
        return png(self.svg(width), scale)

    def save(self, path: str | Path) -> None:
        """Write it to a file, by its ending `.svg`, `.png` or `.txt`.

        An old file is replaced. Raises `ValueError` for another ending, and for a PNG
        where `shapewright[png]` is not installed.
        """
        file = Path(path)
        file.write_bytes(self.saved(file))

    def saved(self, path: Path) -> bytes:
        """What `save` writes."""
        said = unsaved(path)
        if said:
            raise ValueError(said)
        if path.suffix == ".png":
            return self.png()
        text = self.svg() if path.suffix == ".svg" else f"{TEXT_MARK}{self.text()}\n"
        return text.encode()

    def to_json(self, indent: int | None = None) -> str:
        """As versioned JSON: tensors with their values, index maps as expressions.

        Raises `ValueError` for a line of a program, which has a drawing of each call.
        """
        if isinstance(self.drawn, DrawnLine):
            raise ValueError("a line of a program has no JSON form of its own")
        return encode(self.drawn, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Drawing:
        """What `to_json` wrote, on a machine without torch too.

        Raises `UnreadableDrawing`, a `ValueError`, with one sentence for other text.
        """
        return cls(decode(text))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        """In the colours of the notebook's own theme, whatever the system's."""
        return f"<div>{self.svg()}<style>{_themed()}</style></div>"


def unsaved(path: Path) -> str:
    """Why a drawing cannot be written to a file of that name; nothing where it can."""
    if path.suffix not in ENDINGS:
        return f"`{path}`: a drawing is written to .svg, .png or .txt"
    said = missing() if path.suffix == ".png" else ""
    return f"{said}, or write `{path.with_suffix('.svg')}`" if said else ""


def _themed() -> str:
    """The sheet for the themes of Jupyter and VS Code."""
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
