"""``--by op``: every op in the order of the run."""

from __future__ import annotations

from shapewright.trace.record import Trace
from shapewright.views.ops import op_rows
from shapewright.views.terminal.paint import Line, Terminal
from shapewright.views.terminal.table import Column, table


def by_op(trace: Trace, terminal: Terminal, most: int | None = None) -> list[Line]:
    """The op table: index, line, call, shapes in and out, kind, costs, module.

    With `most`, the first so many rows, and how many more there are.
    """
    rows = op_rows(trace)
    more = len(rows) - most if most is not None and len(rows) > most else 0
    rows = rows[: len(rows) - more]
    if not rows:
        return [[("no op ran on a tensor", "dim")]]
    number = _numbers("op", [row.index for row in rows], style="dim")
    places = [row.place for row in rows]
    numeric = all(":" not in place for place in places)
    place = Column("line", places, 12, 2, numeric, style="dim", tail=True)
    call = Column("call", [row.call for row in rows], 44, 2)
    name = Column("call", [row.name for row in rows], 18, 2)
    taken = Column("input", [row.input for row in rows], 20, 4)
    given = Column("output", [row.output for row in rows], 22, 1, style=_made)
    stride = Column("stride", [row.stride for row in rows], 14, 5)
    kind = Column("kind", [row.kind for row in rows], 16, 3)
    where = [row.module for row in rows]
    module = Column("module", where, 18, 3, style="name", tail=True)
    work = _numbers("FLOPs", [row.flops for row in rows])
    read = _numbers("read", [row.read for row in rows])
    written = _numbers("written", [row.written for row in rows])
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


def _made(cell: str) -> Line:
    return [(cell, "error" if cell.startswith("error[") else "shape")]


def _numbers(title: str, cells: list[str], style: str = "") -> Column:
    return Column(title, cells, least=12, rank=0, right=True, style=style)
