"""``--by module``: the tree of module calls with shapes, parameters and costs."""

from __future__ import annotations

from shapewright.trace.record import Trace
from shapewright.trace.totals import Totals
from shapewright.views.modules import ELSEWHERE, STOPPED, module_rows
from shapewright.views.terminal.paint import Line, Terminal
from shapewright.views.terminal.table import Column, table


def by_module(trace: Trace, totals: Totals, terminal: Terminal) -> list[Line]:
    """The module table; at 80 columns without class and bytes, if need be."""
    rows = module_rows(trace, totals)
    labels = [row.tree(terminal.glyphs) + row.label for row in rows]
    name = Column("module", labels, 36, 1, style=_branch)
    kind = Column("class", [row.kind for row in rows], 14, 4, style="name")
    taken = Column("input", [row.input for row in rows], 20, 3)
    given = Column("output", [row.output for row in rows], 24, 2, style=_made)
    size = _numbers("params", [row.parameters for row in rows])
    work = _numbers("FLOPs", [row.flops for row in rows])
    room = _numbers("allocated", [row.allocated for row in rows])
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


def _numbers(title: str, cells: list[str]) -> Column:
    width = max([len(title), *map(len, cells)])
    return Column(title, cells, least=width, rank=0, right=True)


def _branch(cell: str) -> Line:
    """The cell with its branches dim and its name plain, the root's bold."""
    name = cell.lstrip(" │├└─|`-")
    edge = cell[: len(cell) - len(name)]
    return [(edge, "dim"), (name, "" if edge else "bold")]


def _made(cell: str) -> Line:
    return [(cell, "error" if cell.startswith(STOPPED) else "shape")]
