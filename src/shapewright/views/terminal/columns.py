"""Columns of a table, and the choice of those that fit a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from shapewright.views.formatting import (
    Line,
    Segment,
    Terminal,
    count_cells,
    cut_left,
    cut_text,
    pad,
)

GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with all its cells.

    `least` is the width below which the column would be useless; `rank` is its priority
    for spare room (0 before 1). `style` names a style for all cells, or makes the
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
        """Return the width at which every cell is shown in full."""
        return max(map(count_cells, (self.title, *self.cells)))

    @property
    def empty(self) -> bool:
        """Return whether all cells are empty."""
        return not any(self.cells)


def format_table(plans: Sequence[Sequence[Column]], terminal: Terminal) -> list[Line]:
    """Return the table in the first plan that fits the terminal, else in the last one.

    Each plan is a choice of columns, the richest first. Columns that are empty are left
    out of every plan; a last line names those for which there was no room.
    """
    width = terminal.width
    columns = {id(column): column for plan in plans for column in plan}
    natural = {key: column.natural for key, column in columns.items()}
    for plan in plans:
        chosen = [column for column in plan if not column.empty]
        naturals = [natural[id(column)] for column in chosen]
        widths = _find_column_widths(chosen, naturals, width)
        if widths is not None:
            break
    else:
        widths = _squeeze_widths(naturals, width)
    lines = _format_rows(chosen, naturals, widths, terminal)
    shown = {column.title for column in chosen}
    missing = [column.title for column in plans[0] if not column.empty]
    missing = [title for title in missing if title not in shown]
    if missing:
        text = f"no room at {width} columns for {', '.join(missing)}"
        lines.append([(cut_text(text, width, terminal.glyphs.cut), "plain")])
    return lines


def choose_columns(
    columns: Sequence[Column], titles: Sequence[str], terminal: Terminal
) -> list[Line]:
    """Return the table of the columns of these titles, in their order."""
    by_title = {column.title.lower(): column for column in columns}
    chosen = [by_title[title] for title in titles]
    naturals = [column.natural for column in chosen]
    widths = _find_column_widths(chosen, naturals, terminal.width)
    widths = widths or _squeeze_widths(naturals, terminal.width)
    return _format_rows(chosen, naturals, widths, terminal)


def _find_column_widths(
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


def _squeeze_widths(naturals: Sequence[int], width: int) -> list[int]:
    """Return widths for a terminal too narrow for any plan: the
    widest column shrinks.
    """
    widths = list(naturals)
    room = max(width - len(GAP) * (len(widths) - 1), 4 * len(widths))
    while sum(widths) > room:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return widths


def _format_rows(
    columns: Sequence[Column],
    naturals: Sequence[int],
    widths: Sequence[int],
    terminal: Terminal,
) -> list[Line]:
    head: Line = []
    columns_cells = []
    for column, natural, width in zip(columns, naturals, widths, strict=True):
        title = cut_text(column.title, width, terminal.glyphs.cut)
        texts = _cut_cells(column, natural, width, terminal)
        used = min(width, max(map(count_cells, (title, *texts))))
        columns_cells.append(_style_cells(column, texts, used))
        head.append((pad(title, used, column.right) + GAP, "head"))
    return [
        head,
        *map(list, map(chain.from_iterable, zip(*columns_cells, strict=True))),
    ]


def _cut_cells(
    column: Column, natural: int, width: int, terminal: Terminal
) -> Sequence[str]:
    """Return the cells, cut to the width; cut between words, they may be shorter."""
    if natural <= width:
        return column.cells
    shorten = cut_left if column.tail else cut_text
    return [shorten(text, width, terminal.glyphs.cut) for text in column.cells]


def _style_cells(
    column: Column, texts: Sequence[str], width: int
) -> Sequence[Sequence[Segment]]:
    """Return the cells, padded and styled, each followed by the gap."""
    filled = [pad(text, width, column.right) + GAP for text in texts]
    style = column.style
    if isinstance(style, str):
        return [((text, style),) for text in filled]
    return [style(text) for text in filled]
