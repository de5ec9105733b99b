"""The changes of `memory --what-if`, as a table: what each takes, and how it is made.

what if                tensors   reserved    in all difference arithmetic
checkpoint:Block       4.1 GiB    4.6 GiB   5.3 GiB   -5.0 GiB       +31%  fits
"""

from __future__ import annotations

from shapewright.record.memory import FITS, TIGHT, TOO_LARGE, Memory, RehearsedChange
from shapewright.views.formatting import (
    Line,
    Terminal,
    cut_text,
    format_nbytes,
    pad,
)

NAME = 26
"""Columns for the name of a change, at least; a longer one has a line of its own."""

NUMBER = 11
VERDICT = 10

VERDICTS = {
    FITS: ("fits", "out"),
    TIGHT: ("may fit", "warning"),
    TOO_LARGE: ("does not", "error"),
    "": ("", ""),
}


def format_changes(memory: Memory, terminal: Terminal) -> list[Line]:
    """Return the table, with the lines of code of each change below it."""
    rows = memory.what_if or ()
    columns = _choose_columns(memory, terminal.width)
    room = terminal.width - NUMBER * len(columns) - VERDICT
    longest = max((len(row.change) for row in rows), default=0)
    room = min(room, max(NAME, longest + 2))
    head = "".join(f"{name:>{NUMBER}}" for name in columns)
    lines: list[Line] = [[(pad("what if", room), "bold"), (head, "plain")]]
    for row in (_describe_memory(memory), *rows):
        lines += _format_row(memory, row, columns, room, terminal)
        for edit in row.edits:
            text = cut_text(edit, terminal.width - 4, terminal.glyphs.cut)
            lines.append([("    ", ""), (text, "plain")])
    if not rows:
        lines.append([("nothing that was tried lowers it by 1% or more", "plain")])
    return lines


def _choose_columns(memory: Memory, width: int) -> list[str]:
    """Return the columns for which there is room, without the least telling ones."""
    columns = ["tensors", "difference", "arithmetic"]
    if memory.total is not None:
        columns = ["tensors", "reserved", "in all", "difference", "arithmetic"]
    for name in ("reserved", "tensors", "arithmetic"):
        if NAME + NUMBER * len(columns) + VERDICT > width and len(columns) > 2:
            columns.remove(name)
    return columns


def _describe_memory(memory: Memory) -> RehearsedChange:
    """Return the step as it is, as a row."""
    return RehearsedChange(
        "as it is", (), memory.peak.bytes, memory.reserved, memory.total,
        memory.verdict, 0, memory.flops,
    )  # fmt: skip


def _format_row(
    memory: Memory,
    row: RehearsedChange,
    columns: list[str],
    room: int,
    terminal: Terminal,
) -> list[Line]:
    """Return the line of a change; two, where its name is too long for the column."""
    style = "name" if row.edits else ""
    lines: list[Line] = []
    start = pad(row.change, room)
    if len(row.change) >= room:
        change = cut_text(row.change, terminal.width, terminal.glyphs.cut)
        lines.append([(change, style)])
        start = pad("", room)
    if row.error:
        text = f"does not run: {row.error}"
        text = cut_text(text, terminal.width - room, terminal.glyphs.cut)
        return [*lines, [(start, style), (text, "warning")]]
    numbers = {"tensors": format_nbytes(row.bytes), **_compare(memory, row)}
    if row.reserved is not None and row.total is not None:
        numbers["reserved"] = format_nbytes(row.reserved)
        numbers["in all"] = format_nbytes(row.total.high)
    text = "".join(f"{numbers.get(name, ''):>{NUMBER}}" for name in columns)
    verdict, colour = VERDICTS[row.verdict]
    end: Line = [(f"  {verdict}", colour)] if verdict else []
    return [*lines, [(start, style), (text, ""), *end]]


def _compare(memory: Memory, row: RehearsedChange) -> dict[str, str]:
    """Return the difference in bytes and in arithmetic from the step as it is."""
    if not row.edits:
        return {}
    sign = "-" if row.saved > 0 else "+"
    difference = f"{sign}{format_nbytes(abs(row.saved))}" if row.saved else "0"
    if not memory.flops:
        return {"difference": difference}
    change = row.flops / memory.flops - 1
    arithmetic = f"{change:+.0%}" if abs(change) >= 0.005 else "0"
    return {"difference": difference, "arithmetic": arithmetic}
