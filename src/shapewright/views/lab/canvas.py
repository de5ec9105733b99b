"""A page of SVG that grows downwards: text, boxes and paths, with one style sheet.

Classes carry the colours, so that light and dark are one drawing. Nothing is referred
to by an id: several drawings may stand in one notebook.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap

PAD = 20.0
MONO = 0.605
"""A monospaced character's width, as a part of its height."""
SANS = 0.53
"""The mean of a proportional font, on the wide side."""

COLOURS = {
    "back": ("#ffffff", "#0d1117"), "panel": ("#f6f8fa", "#161b22"),
    "line": ("#d0d7de", "#3d444d"), "text": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9198a1"), "name": ("#0550ae", "#79c0ff"),
    "read": ("#0969da", "#58a6ff"), "read-fill": ("#ddf4ff", "#0c2d6b"),
    "out": ("#1a7f37", "#3fb950"), "out-fill": ("#dafbe1", "#04371a"),
    "where": ("#9a6700", "#d29922"), "where-fill": ("#fff8c5", "#3b2a04"),
    "off": ("#d8dee4", "#30363d"), "error": ("#cf222e", "#ff7b72"),
}  # fmt: skip
"""Each colour by day and by night."""

PAINT = (
    ("back", "fill", "back"), ("panel", "fill", "panel"), ("text", "fill", "text"),
    ("soft", "fill", "soft"), ("name", "fill", "name"), ("error", "fill", "error"),
    ("frame", "stroke", "line"), ("cell", "fill", "back"), ("cell", "stroke", "line"),
    ("read", "fill", "read-fill"), ("read", "stroke", "read"),
    ("out", "fill", "out-fill"), ("out", "stroke", "out"),
    ("where", "fill", "where-fill"), ("where", "stroke", "where"),
    ("way", "fill", "where-fill"), ("way", "stroke", "where"),
    ("off", "fill", "off"), ("off", "stroke", "line"),
    ("halo", "stroke", "back"), ("arrow", "stroke", "read"), ("head", "fill", "read"),
)  # fmt: skip
"""What each class paints with which colour."""

FORMS = """
.sw-mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',
monospace;white-space:pre}
.sw-sans{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif}
.sw-bold{font-weight:600}
.sw-cell,.sw-frame{stroke-width:1}
.sw-read,.sw-out{stroke-width:2.5}
.sw-where{stroke-width:2;stroke-dasharray:4 2}
.sw-way{stroke-width:2;stroke-dasharray:4 2}
.sw-halo{fill:none;stroke-width:4.5;stroke-opacity:.75}
.sw-arrow{fill:none;stroke-width:1.6}
"""


def style(night: bool = False) -> str:
    """The colours of all classes, by day or by night."""
    rules = (f".sw-{name}{{{key}:{COLOURS[colour][night]}}}"
             for name, key, colour in PAINT)  # fmt: skip
    return "\n".join(rules)


SHEET = (
    f"{FORMS}{style()}\n@media (prefers-color-scheme:dark){{\n{style(night=True)}\n}}\n"
)

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: str) -> str:
    """Text as XML takes it; what XML has no way to write becomes a replacement mark."""
    return escape(_UNPRINTABLE.sub("\ufffd", text), quote=True)


@dataclass(slots=True)
class Canvas:
    """What has been drawn so far, and how far down that is."""

    width: float = 760
    y: float = PAD
    parts: list[str] = field(default_factory=list)

    @property
    def room(self) -> float:
        """The width between the margins."""
        return self.width - 2 * PAD

    def text(
        self, x: float, y: float, text: str, kinds: str = "text mono", size: float = 12,
        anchor: str = "",
    ) -> None:  # fmt: skip
        """One line of text, its base line at `y`."""
        at = f' text-anchor="{anchor}"' if anchor else ""
        if "  " in text or text[:1] == " ":
            at += ' xml:space="preserve"'
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}"{at} class="{css(kinds)}">'
            f"{escaped(text)}</text>"
        )

    def box(
        self, x: float, y: float, width: float, height: float, kinds: str,
        radius: float = 2,
    ) -> None:  # fmt: skip
        """A rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{radius:g}" class="{css(kinds)}"/>'
        )

    def path(self, data: str, kinds: str) -> None:
        """A path."""
        self.parts.append(f'<path d="{data}" class="{css(kinds)}"/>')

    def lines(
        self, texts: Iterable[str], kinds: str = "text mono", size: float = 12,
        x: float = PAD, after: float = 12,
    ) -> None:  # fmt: skip
        """Text below what stands there, wrapped at the margin."""
        part = MONO if "mono" in kinds else SANS
        most = max(8, int((self.width - PAD - x) / (part * size)))
        for text in texts:
            for line in wrapped(text, most, hanging="mono" in kinds):
                self.y += round(size * 1.5)
                self.text(x, self.y - size * 0.4, line, kinds, size)
        self.y += after

    def page(self, title: str, told: str) -> str:
        """The whole document, as high as it became."""
        height = round(self.y + PAD - 12)
        back = Canvas(self.width)
        back.box(0.5, 0.5, self.width - 1, height - 1, "back frame", 8)
        return (
            f"{MARK}\n"
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" '
            f'height="{height}" viewBox="0 0 {self.width:g} {height}" role="img" '
            'style="max-width:100%;height:auto">'
            f"<title>{escaped(title)}</title><desc>{escaped(told)}</desc>"
            f"<style>{SHEET}</style>\n"
            + "\n".join([*back.parts, *self.parts])
            + "\n</svg>\n"
        )


MARK = "<!-- shapewright explain -->"
"""How an SVG of ours begins."""


def css(kinds: str) -> str:
    """Our classes, by names that no page around us has."""
    return " ".join(f"sw-{kind}" for kind in kinds.split())


def wrapped(text: str, most: int, hanging: bool = False) -> list[str]:
    """Lines of at most `most` characters; where it is code, later ones hang."""
    if len(text) <= most:
        return [text]
    deeper = len(text) - len(text.lstrip()) + 4
    indent = " " * min(deeper, most // 2) if hanging else ""
    return wrap(text, most, subsequent_indent=indent, break_on_hyphens=False) or [""]
