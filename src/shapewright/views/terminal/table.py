"""Tables that fit a width: columns shrink, then a plan with fewer is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from shapewright.views.terminal.paint import (
    Line,
    Segment,
    Terminal,
    cells,
    cut,
    cut_left,
    pad,
)

GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, all its cells made.

    `least` is the width below which the column would tell nothing; `rank` says who gets
    spare room first (0 before 1). `style` names a style for all cells, or makes the
    styled line out of a finished cell. `tail` keeps the end of a cell that is cut.
    """

    title: str
    cells: Sequence[str]
    least: int = 8
    rank: int = 1
    right: bool = False
    style: str | Callable[[str], Line] = ""
    tail: bool = False

    @property
    def natural(self) -> int:
        """The width that shows every cell whole."""
        return max(map(cells, (self.title, *self.cells)))

    @property
    def empty(self) -> bool:
        """Whether no cell says anything."""
        return not any(self.cells)


def table(plans: Sequence[Sequence[Column]], terminal: Terminal) -> list[Line]:
    """The table by the first plan that fits the terminal, else by the last one.

    Each plan is a choice of columns, the richest first. Columns that are empty are
    left out of every plan.
    """
    width = terminal.width
    columns = {id(column): column for plan in plans for column in plan}
    natural = {key: column.natural for key, column in columns.items()}
    for plan in plans:
        chosen = [column for column in plan if not column.empty]
        naturals = [natural[id(column)] for column in chosen]
        widths = _widths(chosen, naturals, width)
        if widths is not None:
            return _rows(chosen, naturals, widths, terminal)
    return _rows(chosen, naturals, _squeezed(naturals, width), terminal)


def _widths(
    columns: Sequence[Column], naturals: Sequence[int], width: int
) -> list[int] | None:
    widths = [
        min(natural, max(column.least, len(column.title)))
        for column, natural in zip(columns, naturals, strict=True)
    ]
    spare = width - sum(widths) - len(GAP) * (len(columns) - 1)
    if spare < 0:
        return None
    for at in sorted(range(len(columns)), key=lambda at: columns[at].rank):
        more = min(spare, naturals[at] - widths[at])
        widths[at] += more
        spare -= more
    return widths


def _squeezed(naturals: Sequence[int], width: int) -> list[int]:
    """Widths for a terminal too narrow for any plan: the widest column gives way."""
    widths = list(naturals)
    room = max(width - len(GAP) * (len(widths) - 1), 4 * len(widths))
    while sum(widths) > room:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return widths


def _rows(
    columns: Sequence[Column],
    naturals: Sequence[int],
    widths: Sequence[int],
    terminal: Terminal,
) -> list[Line]:
    columns_cells = [
        _column(column, natural, width, terminal)
        for column, natural, width in zip(columns, naturals, widths, strict=True)
    ]
    head: Line = []
    for column, width in zip(columns, widths, strict=True):
        title = cut(column.title, width, terminal.glyphs.cut)
        head.append((pad(title, width, column.right) + GAP, "head"))
    return [
        head,
        *map(list, map(chain.from_iterable, zip(*columns_cells, strict=True))),
    ]


def _column(
    column: Column, natural: int, width: int, terminal: Terminal
) -> Sequence[Sequence[Segment]]:
    """The cells cut, filled and styled, each with the gap after it."""
    texts: Sequence[str] = column.cells
    if natural > width:
        shorten = cut_left if column.tail else cut
        texts = [shorten(text, width, terminal.glyphs.cut) for text in texts]
    filled = [pad(text, width, column.right) + GAP for text in texts]
    style = column.style
    if isinstance(style, str):
        return [((text, style),) for text in filled]
    return [style(text) for text in filled]
