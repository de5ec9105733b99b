"""A trace as a page of text, with its table by module, by op or by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from shapewright.record.totals import Totals
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import (
    ASCII,
    UNICODE,
    Line,
    Terminal,
    count_cells,
    cut_text,
    pad,
    render_lines,
)
from shapewright.views.source_lines import FunctionRows, Row, iter_files
from shapewright.views.table_rows import (
    ELSEWHERE,
    STOPPED,
    ModuleRow,
    build_module_rows,
    build_op_rows,
)
from shapewright.views.terminal.columns import Column, choose_columns, format_table
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

By = Literal["module", "op", "line"]
SCREEN = 40
"""Rows of a table by module that is shown whole; a longer one is cut at a depth."""

MODULE_COLUMNS = (
    "module", "class", "input", "output", "params", "flops", "allocated",
)  # fmt: skip
OP_COLUMNS = (
    "op", "line", "call", "input", "output", "stride", "kind", "flops", "read",
    "written", "module",
)  # fmt: skip
"""What `--columns` may name, by module and by op."""

MODULE_KEYS = ("params", "flops", "allocated")
OP_KEYS = ("flops", "read", "written")
"""What `--sort` may name, by module and by op."""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Which rows and columns of a table are shown.

    `depth` is that of the innermost modules shown, 0 for the root alone; None for as
    many levels as fit a screen. `sort` is one of `MODULE_KEYS` or `OP_KEYS`, `columns`
    names some of `MODULE_COLUMNS` or `OP_COLUMNS`; empty for the usual.
    """

    depth: int | None = None
    sort: str = ""
    columns: tuple[str, ...] = ()


def check_table_options(by: By, options: TableOptions) -> None:
    """Raise `ValueError` for options that the table by `by` does not have."""
    if by == "line" and options != TableOptions():
        raise ValueError(
            "depth, sort key and columns are for a table by module or by op, not by"
            " line"
        )
    if by == "op" and options.depth is not None:
        raise ValueError("a depth is for a table by module; ops have no levels")
    keys, names = (
        (MODULE_KEYS, MODULE_COLUMNS) if by == "module" else (OP_KEYS, OP_COLUMNS)
    )
    sort = [options.sort] if options.sort else []
    for what, words, known in (
        (f"a table by {by} is not sorted by", sort, keys),
        (f"a table by {by} has no column", options.columns, names),
    ):
        for word in words:
            if word not in known:
                close = get_close_matches(word, known, n=1)
                rest = f"did you mean `{close[0]}`?" if close else (
                    f"there is {', '.join(known)}"
                )  # fmt: skip
                raise ValueError(f"{what} `{word}`; {rest}")


def _format_by_module(
    trace: Trace, totals: Totals, terminal: Terminal, options: TableOptions
) -> list[Line]:
    """Return the module table; at 80 columns without class and bytes if necessary."""
    every = build_module_rows(trace, totals)
    rows = _choose_rows(trace, totals, every, options)
    labels = [row.tree(terminal.glyphs) + row.label for row in rows]
    name = Column("module", labels, 36, 1, style=_style_branch)
    kinds = [row.kind for row in rows]
    kind = Column("class", kinds, LONGEST_CLASS, 4, style="name")
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
    lines = (
        choose_columns(plans[0], options.columns, terminal)
        if options.columns
        else format_table(plans, terminal)
    )
    if any(row.again for row in rows):
        lines.append([(ELSEWHERE, "plain")])
    lines += _describe_marks([row.input + row.output for row in rows])
    if len(rows) < len(every) and not options.sort:
        deepest = max(len(row.lasts) for row in every)
        more = formatting.format_plural(len(every) - len(rows), "module")
        text = f"{more} inside these not shown; `--depth {deepest}` shows all"
        lines.append([(text, "plain")])
    return lines


def _choose_rows(
    trace: Trace, totals: Totals, every: list[ModuleRow], options: TableOptions
) -> list[ModuleRow]:
    """Return the rows to show: to a depth, or the innermost sorted by their cost."""
    depth = options.depth
    if options.sort:
        rows = build_module_rows(trace, totals, depth, flat=True)
        return sorted(rows, key=lambda row: -row.get_cost(options.sort))
    depths = [len(row.lasts) for row in every]
    if depth is None and len(every) <= SCREEN:
        return every
    if depth is None:
        depth = 1
        while sum(level <= depth + 1 for level in depths) <= SCREEN:
            depth += 1
    return [row for row, level in zip(every, depths, strict=True) if level <= depth]


def _describe_marks(cells: Sequence[str]) -> list[Line]:
    """Return what `(4, 8)?` means, if a cell has it."""
    if not any(")?" in cell for cell in cells):
        return []
    return [[("? after a shape: it rests on an assumption, told below", "plain")]]


def _format_module_numbers(title: str, cells: list[str]) -> Column:
    width = max([len(title), *map(len, cells)])
    return Column(title, cells, least=width, rank=0, right=True)


def _style_branch(cell: str) -> Line:
    """Return the cell with its branches faint and its name plain; the root is bold."""
    name = cell.lstrip(" │├└─|`-")
    edge = cell[: len(cell) - len(name)]
    return [(edge, "edge"), (name, "" if edge else "bold")]


def _style_module_output(cell: str) -> Line:
    return [(cell, "error" if cell.startswith(STOPPED) else "shape")]


def _format_by_op(
    trace: Trace, terminal: Terminal, options: TableOptions, most: int | None = None
) -> list[Line]:
    """Return the op table: index, line, call, shapes in and out, kind, costs, module.

    With `most`, the first so many rows, and how many more there are.
    """
    rows = build_op_rows(trace)
    if options.sort:
        rows.sort(key=lambda row: -row.get_cost(trace, options.sort))
    more = len(rows) - most if most is not None and len(rows) > most else 0
    rows = rows[: len(rows) - more]
    if not rows:
        return [[("no op ran on a tensor", "plain")]]
    number = _format_op_numbers("op", [row.index for row in rows], style="plain")
    places = [row.place for row in rows]
    numeric = all(":" not in place for place in places)
    place = Column("line", places, 20, 2, numeric, style="plain", tail=True)
    call = Column("call", [row.call for row in rows], 30, 2)
    names = [row.name for row in rows]
    name = Column("call", names, min(LONGEST_NAME, max(map(len, names))), 2)
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
    columns = (number, place, call, taken, output, stride, kind, *costs, module)
    lines = (
        choose_columns(columns, options.columns, terminal)
        if options.columns
        else format_table(plans, terminal)
    )
    lines += _describe_marks([row.input + row.output for row in rows])
    if more:
        lines.append([(f"and {more} more ops; `--by op` shows all", "plain")])
    return lines


LONGEST_CLASS = 24
LONGEST_NAME = 30
"""Columns that names of a class and of a call take before their end is cut."""


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
            lines.append([(block.place, "title"), (f"  {block.name}", "plain")])
            lines += [_format_line(row, widths, terminal) for row in block.rows]
            lines.append([])
    return lines or [[("no line of the program created a tensor", "plain")]]


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
        (f"  {row.often:>{often}}", "plain"),
    ]


def _shorten_fact(fact: str, width: int, terminal: Terminal) -> str:
    """Return the fact without its first steps if not all fit; the result is kept."""
    arrow = f" {terminal.glyphs.arrow} "
    rest = short = fact
    while count_cells(short) > width and arrow in rest:
        rest = rest.partition(arrow)[2]
        short = terminal.glyphs.cut + arrow + rest
    return short


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
    options: TableOptions | None = None,
) -> str:
    """Return the trace as text, by module, op or line, of at most `width` columns.

    Example: ``print(format_trace(trace, by="line", width=80))``. `width` None means 100
    columns. A function without modules is always shown by op. With `unicode` False
    lines and marks are drawn in ASCII. Messages are not broken, so that they can be
    searched for. `options` choose rows and columns of the tables by module and by op.
    """
    glyphs = UNICODE if unicode else ASCII
    terminal = Terminal(max(width or PIPED, 40), colour, glyphs)
    options = options or TableOptions()
    check_table_options(by, options)
    page = _format_page(trace, by, terminal, options)
    return render_lines(page, colour)


def _format_page(
    trace: Trace, by: By, terminal: Terminal, options: TableOptions
) -> list[Line]:
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
        *_format_body(trace, by, totals, terminal, options),
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
    return [
        (trace.target, "title"),
        (cut_text(rest, room, terminal.glyphs.cut), "plain"),
    ]


def _format_body(
    trace: Trace, by: By, totals: Totals, terminal: Terminal, options: TableOptions
) -> list[Line]:
    if by == "op":
        return _format_by_op(trace, terminal, options)
    if by == "line":
        return _format_by_line(trace, terminal)
    table = _format_by_module(trace, totals, terminal, options) if trace.calls else []
    if len(trace.calls) > 1:
        return table
    whole = [*table, []] if table else []
    return [*whole, *_format_by_op(trace, terminal, TableOptions(), FIRST_OPS)]
