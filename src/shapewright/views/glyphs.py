"""The drawing characters, for readers with and without Unicode."""

from __future__ import annotations

from dataclasses import dataclass


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
