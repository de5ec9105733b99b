"""A trace as a page of text, with its table by module, by op or by line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from shapewright.record.totals import Totals
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import (
    ASCII,
    UNICODE,
    Line,
    Segment,
    Terminal,
    cells,
    cut,
    cut_left,
    lower,
    pad,
)
from shapewright.views.source_lines import FunctionRows, Row, files
from shapewright.views.table_rows import ELSEWHERE, STOPPED, module_rows, op_rows
from shapewright.views.terminal.findings import assumption_lines, finding_lines
from shapewright.views.terminal.totals import (
    formula_lines,
    labelled,
    last_line,
    totals_lines,
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
        """Return the width that shows every cell whole."""
        return max(map(cells, (self.title, *self.cells)))

    @property
    def empty(self) -> bool:
        """Whether all cells are empty."""
        return not any(self.cells)


def table(plans: Sequence[Sequence[Column]], terminal: Terminal) -> list[Line]:
    """Return the table by the first plan that fits the terminal, else by the last.

    Each plan is a choice of columns, the richest first. Columns that are empty are left
    out of every plan.
    """
    width = terminal.width
    columns = {id(column): column for plan in plans for column in plan}
    natural = {key: column.natural for key, column in columns.items()}
    for plan in plans:
        chosen = [column for column in plan if not column.empty]
        naturals = [natural[id(column)] for column in chosen]
        widths = _find_column_widths(chosen, naturals, width)
        if widths is not None:
            return _rows(chosen, naturals, widths, terminal)
    return _rows(chosen, naturals, _squeezed(naturals, width), terminal)


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


def _squeezed(naturals: Sequence[int], width: int) -> list[int]:
    """Return widths for a terminal too narrow for any plan: the
    widest column shrinks.
    """
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
    """Return the cells cut, filled and styled, each with the gap after it."""
    texts: Sequence[str] = column.cells
    if natural > width:
        shorten = cut_left if column.tail else cut
        texts = [shorten(text, width, terminal.glyphs.cut) for text in texts]
    filled = [pad(text, width, column.right) + GAP for text in texts]
    style = column.style
    if isinstance(style, str):
        return [((text, style),) for text in filled]
    return [style(text) for text in filled]


def _by_module(trace: Trace, totals: Totals, terminal: Terminal) -> list[Line]:
    """Return the module table; at 80 columns without class and bytes, if need be."""
    rows = module_rows(trace, totals)
    labels = [row.tree(terminal.glyphs) + row.label for row in rows]
    name = Column("module", labels, 36, 1, style=_branch)
    kind = Column("class", [row.kind for row in rows], 14, 4, style="name")
    taken = Column("input", [row.input for row in rows], 20, 3)
    given = Column(
        "output", [row.output for row in rows], 24, 2, style=_style_module_output
    )
    size = _module_number_column("params", [row.parameters for row in rows])
    work = _module_number_column("FLOPs", [row.flops for row in rows])
    room = _module_number_column("allocated", [row.allocated for row in rows])
    plans = (
        (name, kind, taken, given, size, work, room),
        (name, kind, taken, given, size, work),
        (name, taken, given, size, work),
        (name, given, size, work),
        (name, given, size),
        (name, given),
    )
    lines = table(plans, terminal)
    if any(row.again for row in rows):
        lines.append([(ELSEWHERE, "dim")])
    return lines


def _module_number_column(title: str, cells: list[str]) -> Column:
    width = max([len(title), *map(len, cells)])
    return Column(title, cells, least=width, rank=0, right=True)


def _branch(cell: str) -> Line:
    """Return the cell with its branches dim and its name plain, the root's bold."""
    name = cell.lstrip(" │├└─|`-")
    edge = cell[: len(cell) - len(name)]
    return [(edge, "dim"), (name, "" if edge else "bold")]


def _style_module_output(cell: str) -> Line:
    return [(cell, "error" if cell.startswith(STOPPED) else "shape")]


def _by_op(trace: Trace, terminal: Terminal, most: int | None = None) -> list[Line]:
    """Return the op table: index, line, call, shapes in and out, kind, costs, module.

    With `most`, the first so many rows, and how many more there are.
    """
    rows = op_rows(trace)
    more = len(rows) - most if most is not None and len(rows) > most else 0
    rows = rows[: len(rows) - more]
    if not rows:
        return [[("no op ran on a tensor", "dim")]]
    number = _op_number_column("op", [row.index for row in rows], style="dim")
    places = [row.place for row in rows]
    numeric = all(":" not in place for place in places)
    place = Column("line", places, 12, 2, numeric, style="dim", tail=True)
    call = Column("call", [row.call for row in rows], 44, 2)
    name = Column("call", [row.name for row in rows], 18, 2)
    taken = Column("input", [row.input for row in rows], 20, 4)
    given = Column(
        "output", [row.output for row in rows], 22, 1, style=_style_op_output
    )
    stride = Column("stride", [row.stride for row in rows], 14, 5)
    kind = Column("kind", [row.kind for row in rows], 16, 3)
    where = [row.module for row in rows]
    module = Column("module", where, 18, 3, style="name", tail=True)
    work = _op_number_column("FLOPs", [row.flops for row in rows])
    read = _op_number_column("read", [row.read for row in rows])
    written = _op_number_column("written", [row.written for row in rows])
    costs = (work, read, written)
    plans = (
        (number, place, call, taken, given, stride, kind, *costs, module),
        (number, place, call, taken, given, kind, *costs, module),
        (number, place, call, taken, given, kind, work, written, module),
        (number, place, call, taken, given, kind, work, module),
        (number, place, call, given, kind, work, module),
        (number, place, name, given, kind, work, module),
        (number, place, name, given, kind, module),
        (number, place, call, given, kind),
        (number, place, name, given, kind),
        (number, place, name, given),
        (name, given),
    )
    lines = table(plans, terminal)
    if more:
        lines.append([(f"and {more} more ops; `--by op` shows all", "dim")])
    return lines


def _style_op_output(cell: str) -> Line:
    return [(cell, "error" if cell.startswith("error[") else "shape")]


def _op_number_column(title: str, cells: list[str], style: str = "") -> Column:
    return Column(title, cells, least=12, rank=0, right=True, style=style)


GUTTER = 7
"""Columns of the line number and the rule."""


def _by_line(trace: Trace, terminal: Terminal) -> list[Line]:
    """Return the functions that ran, file by file, each line with its tensors."""
    lines: list[Line] = []
    for blocks in files(trace, terminal.glyphs.arrow):
        widths = _find_line_widths(blocks, terminal)
        for block in blocks:
            lines.append([(block.place, "title"), (f"  {block.name}", "dim")])
            lines += [_line(row, widths, terminal) for row in block.rows]
            lines.append([])
    return lines or [[("no line of the program created a tensor", "dim")]]


def _find_line_widths(blocks: Sequence[FunctionRows], terminal: Terminal) -> list[int]:
    """Return the widths of columns for code, facts and counts.

    Facts first lose their intermediate steps, so that the code stands whole; then the
    code gives way, but keeps half.
    """
    rows = [row for block in blocks for row in block.rows if row is not None]
    code = max((cells(row.code) for row in rows), default=0)
    fact = max((cells(row.wrong or row.fact) for row in rows), default=0)
    least = max((cells(_least(row, terminal)) for row in rows), default=0)
    often = max((len(row.often) for row in rows), default=0)
    free = terminal.width - GUTTER - 2 - (often + 2 if often else 0)
    code = min(code, max(free - least, free // 2))
    return [code, min(fact, free - code), often]


def _least(row: Row, terminal: Terminal) -> str:
    return row.wrong or _shortened(row.fact, 0, terminal)


def _line(row: Row | None, widths: Sequence[int], terminal: Terminal) -> Line:
    glyphs = terminal.glyphs
    if row is None:
        return [(f"{glyphs.gap:>4} {glyphs.rule}", "edge")]
    code, fact, often = widths
    text = pad(cut(row.code, code, glyphs.cut), code)
    made = row.wrong or _shortened(row.fact, fact, terminal)
    style = row.wrong.partition("[")[0] if row.wrong else "shape"
    return [
        (f"{row.number:4} {glyphs.rule} ", "edge"),
        (f"{text}  ", ""),
        (pad(cut(made, fact, glyphs.cut), fact), style),
        (f"  {row.often:>{often}}", "dim"),
    ]


def _shortened(fact: str, width: int, terminal: Terminal) -> str:
    """Return the fact without its first steps if not all fit: the result counts."""
    arrow = f" {terminal.glyphs.arrow} "
    rest = short = fact
    while cells(short) > width and arrow in rest:
        rest = rest.partition(arrow)[2]
        short = terminal.glyphs.cut + arrow + rest
    return short


By = Literal["module", "op", "line"]
PIPED = 100
"""The width of a page that is not written to a terminal."""


FIRST_OPS = 40
"""Ops that are shown beside the tree of a program without inner modules."""


def text(
    trace: Trace,
    by: By = "module",
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
) -> str:
    """Return the trace as text, by module, op or line, of at most `width` columns.

    Example: ``print(text(trace, by="line", width=80))``. `width` None means 100
    columns. A function without modules is always shown by op. With `unicode` False
    lines and marks are drawn in ASCII. Messages are not broken, so that they can be
    searched for.
    """
    glyphs = UNICODE if unicode else ASCII
    terminal = Terminal(max(width or PIPED, 40), colour, glyphs)
    return lower(_page(trace, by, terminal), colour)


def _page(trace: Trace, by: By, terminal: Terminal) -> list[Line]:
    """Return the lines of the page."""
    if not trace.calls and not trace.complete:  # it ended before its first call
        lines = [
            line
            for f in trace.findings
            for line in (*finding_lines(f, trace, terminal), [])
        ]
        return [*lines, [("nothing was traced: the program did not start", "warning")]]
    totals = trace.totals
    lines = [_title(trace, terminal), [], *_body(trace, by, totals, terminal)]
    if lines[-1]:
        lines.append([])
    for finding in trace.findings:
        lines += [*finding_lines(finding, trace, terminal), []]
    notes = formula_lines(trace, terminal)
    notes += assumption_lines(trace, terminal)
    for note in trace.notes:
        notes += labelled("note", note, terminal)
    if notes:
        lines += [*notes, []]
    lines += totals_lines(trace, totals, terminal)
    if not trace.complete:
        lines.append([("incomplete: the program did not reach its end", "warning")])
    return [*lines, last_line(trace, totals)]


def _title(trace: Trace, terminal: Terminal) -> Line:
    mode = "training" if trace.training else "evaluation"
    facts = [mode]
    facts += [f"{name} = {size}" for name, size in trace.letters.items()]
    if trace.torch_version:
        facts.append(f"torch {trace.torch_version}")
    facts.append(formatting.plural(len(trace.ops), "op"))
    rest = f"  {', '.join(facts)}"
    room = terminal.width - cells(trace.target)
    return [(trace.target, "title"), (cut(rest, room, terminal.glyphs.cut), "dim")]


def _body(trace: Trace, by: By, totals: Totals, terminal: Terminal) -> list[Line]:
    if by == "op":
        return _by_op(trace, terminal)
    if by == "line":
        return _by_line(trace, terminal)
    if len(trace.calls) > 1:
        return _by_module(trace, totals, terminal)
    whole = [*_by_module(trace, totals, terminal), []] if trace.calls else []
    return [*whole, *_by_op(trace, terminal, FIRST_OPS)]
