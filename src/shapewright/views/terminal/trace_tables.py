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
    count_cells,
    cut_left,
    cut_text,
    pad,
    render_lines,
)
from shapewright.views.source_lines import FunctionRows, Row, iter_files
from shapewright.views.table_rows import (
    ELSEWHERE,
    STOPPED,
    build_module_rows,
    build_op_rows,
)
from shapewright.views.terminal.findings import (
    format_assumption_lines,
    format_finding_lines,
)
from shapewright.views.terminal.totals import (
    format_formula_lines,
    format_last_line,
    format_totals,
    label_text,
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
            return _format_rows(chosen, naturals, widths, terminal)
    return _format_rows(chosen, naturals, _squeeze_widths(naturals, width), terminal)


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
    columns_cells = [
        _format_column(column, natural, width, terminal)
        for column, natural, width in zip(columns, naturals, widths, strict=True)
    ]
    head: Line = []
    for column, width in zip(columns, widths, strict=True):
        title = cut_text(column.title, width, terminal.glyphs.cut)
        head.append((pad(title, width, column.right) + GAP, "head"))
    return [
        head,
        *map(list, map(chain.from_iterable, zip(*columns_cells, strict=True))),
    ]


def _format_column(
    column: Column, natural: int, width: int, terminal: Terminal
) -> Sequence[Sequence[Segment]]:
    """Return the cells, cut, padded and styled, each followed by the gap."""
    texts: Sequence[str] = column.cells
    if natural > width:
        shorten = cut_left if column.tail else cut_text
        texts = [shorten(text, width, terminal.glyphs.cut) for text in texts]
    filled = [pad(text, width, column.right) + GAP for text in texts]
    style = column.style
    if isinstance(style, str):
        return [((text, style),) for text in filled]
    return [style(text) for text in filled]


def _format_by_module(trace: Trace, totals: Totals, terminal: Terminal) -> list[Line]:
    """Return the module table; at 80 columns without class and bytes if necessary."""
    rows = build_module_rows(trace, totals)
    labels = [row.tree(terminal.glyphs) + row.label for row in rows]
    name = Column("module", labels, 36, 1, style=_style_branch)
    kind = Column("class", [row.kind for row in rows], 14, 4, style="name")
    taken = Column("input", [row.input for row in rows], 20, 3)
    output = Column(
        "output", [row.output for row in rows], 24, 2, style=_style_module_output
    )
    size = _format_module_numbers("params", [row.parameters for row in rows])
    work = _format_module_numbers("FLOPs", [row.flops for row in rows])
    room = _format_module_numbers("allocated", [row.allocated for row in rows])
    plans = (
        (name, kind, taken, output, size, work, room),
        (name, kind, taken, output, size, work),
        (name, taken, output, size, work),
        (name, output, size, work),
        (name, output, size),
        (name, output),
    )
    lines = format_table(plans, terminal)
    if any(row.again for row in rows):
        lines.append([(ELSEWHERE, "dim")])
    return lines


def _format_module_numbers(title: str, cells: list[str]) -> Column:
    width = max([len(title), *map(len, cells)])
    return Column(title, cells, least=width, rank=0, right=True)


def _style_branch(cell: str) -> Line:
    """Return the cell with its branches dim and its name plain, or bold at the root."""
    name = cell.lstrip(" │├└─|`-")
    edge = cell[: len(cell) - len(name)]
    return [(edge, "dim"), (name, "" if edge else "bold")]


def _style_module_output(cell: str) -> Line:
    return [(cell, "error" if cell.startswith(STOPPED) else "shape")]


def _format_by_op(
    trace: Trace, terminal: Terminal, most: int | None = None
) -> list[Line]:
    """Return the op table: index, line, call, shapes in and out, kind, costs, module.

    With `most`, the first so many rows, and how many more there are.
    """
    rows = build_op_rows(trace)
    more = len(rows) - most if most is not None and len(rows) > most else 0
    rows = rows[: len(rows) - more]
    if not rows:
        return [[("no op ran on a tensor", "dim")]]
    number = _format_op_numbers("op", [row.index for row in rows], style="dim")
    places = [row.place for row in rows]
    numeric = all(":" not in place for place in places)
    place = Column("line", places, 12, 2, numeric, style="dim", tail=True)
    call = Column("call", [row.call for row in rows], 44, 2)
    name = Column("call", [row.name for row in rows], 18, 2)
    taken = Column("input", [row.input for row in rows], 20, 4)
    output = Column(
        "output", [row.output for row in rows], 22, 1, style=_style_op_output
    )
    stride = Column("stride", [row.stride for row in rows], 14, 5)
    kind = Column("kind", [row.kind for row in rows], 16, 3)
    where = [row.module for row in rows]
    module = Column("module", where, 18, 3, style="name", tail=True)
    work = _format_op_numbers("FLOPs", [row.flops for row in rows])
    read = _format_op_numbers("read", [row.read for row in rows])
    written = _format_op_numbers("written", [row.written for row in rows])
    costs = (work, read, written)
    plans = (
        (number, place, call, taken, output, stride, kind, *costs, module),
        (number, place, call, taken, output, kind, *costs, module),
        (number, place, call, taken, output, kind, work, written, module),
        (number, place, call, taken, output, kind, work, module),
        (number, place, call, output, kind, work, module),
        (number, place, name, output, kind, work, module),
        (number, place, name, output, kind, module),
        (number, place, call, output, kind),
        (number, place, name, output, kind),
        (number, place, name, output),
        (name, output),
    )
    lines = format_table(plans, terminal)
    if more:
        lines.append([(f"and {more} more ops; `--by op` shows all", "dim")])
    return lines


def _style_op_output(cell: str) -> Line:
    return [(cell, "error" if cell.startswith("error[") else "shape")]


def _format_op_numbers(title: str, cells: list[str], style: str = "") -> Column:
    return Column(title, cells, least=12, rank=0, right=True, style=style)


GUTTER = 7
"""Columns of the line number and the rule."""


def _format_by_line(trace: Trace, terminal: Terminal) -> list[Line]:
    """Return the functions that ran, file by file, each line with its tensors."""
    lines: list[Line] = []
    for blocks in iter_files(trace, terminal.glyphs.arrow):
        widths = _find_line_widths(blocks, terminal)
        for block in blocks:
            lines.append([(block.place, "title"), (f"  {block.name}", "dim")])
            lines += [_format_line(row, widths, terminal) for row in block.rows]
            lines.append([])
    return lines or [[("no line of the program created a tensor", "dim")]]


def _find_line_widths(blocks: Sequence[FunctionRows], terminal: Terminal) -> list[int]:
    """Return the widths of the columns for code, facts and counts.

    Facts first lose their intermediate steps, so that the code stands whole; then the
    code gives way, but keeps half.
    """
    rows = [row for block in blocks for row in block.rows if row is not None]
    code = max((count_cells(row.code) for row in rows), default=0)
    fact = max((count_cells(row.wrong or row.fact) for row in rows), default=0)
    least = max((count_cells(_get_least(row, terminal)) for row in rows), default=0)
    often = max((len(row.often) for row in rows), default=0)
    free = terminal.width - GUTTER - 2 - (often + 2 if often else 0)
    code = min(code, max(free - least, free // 2))
    return [code, min(fact, free - code), often]


def _get_least(row: Row, terminal: Terminal) -> str:
    return row.wrong or _shorten_fact(row.fact, 0, terminal)


def _format_line(row: Row | None, widths: Sequence[int], terminal: Terminal) -> Line:
    glyphs = terminal.glyphs
    if row is None:
        return [(f"{glyphs.gap:>4} {glyphs.rule}", "edge")]
    code, fact, often = widths
    text = pad(cut_text(row.code, code, glyphs.cut), code)
    result = row.wrong or _shorten_fact(row.fact, fact, terminal)
    style = row.wrong.partition("[")[0] if row.wrong else "shape"
    return [
        (f"{row.number:4} {glyphs.rule} ", "edge"),
        (f"{text}  ", ""),
        (pad(cut_text(result, fact, glyphs.cut), fact), style),
        (f"  {row.often:>{often}}", "dim"),
    ]


def _shorten_fact(fact: str, width: int, terminal: Terminal) -> str:
    """Return the fact without its first steps if not all fit; the result is kept."""
    arrow = f" {terminal.glyphs.arrow} "
    rest = short = fact
    while count_cells(short) > width and arrow in rest:
        rest = rest.partition(arrow)[2]
        short = terminal.glyphs.cut + arrow + rest
    return short


By = Literal["module", "op", "line"]
PIPED = 100
"""The width of a page that is not written to a terminal."""


FIRST_OPS = 40
"""Ops that are shown beside the tree of a program without inner modules."""


def format_trace(
    trace: Trace,
    by: By = "module",
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
) -> str:
    """Return the trace as text, by module, op or line, of at most `width` columns.

    Example: ``print(format_trace(trace, by="line", width=80))``. `width` None means 100
    columns. A function without modules is always shown by op. With `unicode` False
    lines and marks are drawn in ASCII. Messages are not broken, so that they can be
    searched for.
    """
    glyphs = UNICODE if unicode else ASCII
    terminal = Terminal(max(width or PIPED, 40), colour, glyphs)
    return render_lines(_format_page(trace, by, terminal), colour)


def _format_page(trace: Trace, by: By, terminal: Terminal) -> list[Line]:
    """Return the lines of the page."""
    if not trace.calls and not trace.complete:  # it ended before its first call
        lines = [
            line
            for f in trace.findings
            for line in (*format_finding_lines(f, trace, terminal), [])
        ]
        return [*lines, [("nothing was traced: the program did not start", "warning")]]
    totals = trace.totals
    lines = [
        _format_title(trace, terminal),
        [],
        *_format_body(trace, by, totals, terminal),
    ]
    if lines[-1]:
        lines.append([])
    for finding in trace.findings:
        lines += [*format_finding_lines(finding, trace, terminal), []]
    notes = format_formula_lines(trace, terminal)
    notes += format_assumption_lines(trace, terminal)
    for note in trace.notes:
        notes += label_text("note", note, terminal)
    if notes:
        lines += [*notes, []]
    lines += format_totals(trace, totals, terminal)
    if not trace.complete:
        lines.append([("incomplete: the program did not reach its end", "warning")])
    return [*lines, format_last_line(trace, totals)]


def _format_title(trace: Trace, terminal: Terminal) -> Line:
    mode = "training" if trace.training else "evaluation"
    facts = [mode]
    facts += [f"{name} = {size}" for name, size in trace.letters.items()]
    if trace.torch_version:
        facts.append(f"torch {trace.torch_version}")
    facts.append(formatting.format_plural(len(trace.ops), "op"))
    rest = f"  {', '.join(facts)}"
    room = terminal.width - count_cells(trace.target)
    return [(trace.target, "title"), (cut_text(rest, room, terminal.glyphs.cut), "dim")]


def _format_body(
    trace: Trace, by: By, totals: Totals, terminal: Terminal
) -> list[Line]:
    if by == "op":
        return _format_by_op(trace, terminal)
    if by == "line":
        return _format_by_line(trace, terminal)
    if len(trace.calls) > 1:
        return _format_by_module(trace, totals, terminal)
    whole = [*_format_by_module(trace, totals, terminal), []] if trace.calls else []
    return [*whole, *_format_by_op(trace, terminal, FIRST_OPS)]
