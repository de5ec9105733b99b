"""What stands below every table: totals, and what a real run would have cost."""

from __future__ import annotations

from collections.abc import Iterable

from shapewright.trace.fact import Fact
from shapewright.trace.record import Trace
from shapewright.trace.totals import Totals
from shapewright.views import shapes, units
from shapewright.views.ops import line_of
from shapewright.views.terminal.paint import Line, Terminal, cells

LABEL = 13


def totals_lines(trace: Trace, totals: Totals, terminal: Terminal) -> list[Line]:
    """The totals, each with its label, broken to the width."""
    rows = totals_rows(trace, totals)
    return [line for label, text in rows for line in labelled(label, text, terminal)]


def totals_rows(trace: Trace, totals: Totals) -> list[tuple[str, str]]:
    """Parameters, buffers, arithmetic, the largest tensor and all activations."""
    rows = (
        []
        if isinstance(trace.output, Fact | None)
        else [("output", shapes.nest(trace.output))]
    )
    rows.append(("parameters", _parameters(totals)))
    if totals.buffers:
        size = units.nbytes(totals.buffer_bytes)
        rows.append(("buffers", f"{units.plural(totals.buffers, 'element')} ({size})"))
    rows.append(("arithmetic", _arithmetic(totals)))
    if totals.largest is not None:
        rows.append(("largest", _largest(totals)))
    size = units.nbytes(totals.activation_bytes)
    count = units.plural(totals.activations, "new tensor")
    rows.append(
        ("activations", f"{size} in {count} by {units.plural(totals.ops, 'op')}")
    )
    return rows


def labelled(label: str, text: str, terminal: Terminal) -> list[Line]:
    """A label and its text, broken between words under the text's beginning."""
    room = max(terminal.width - LABEL, 20)
    made: list[Line] = []
    for at, part in enumerate(wrapped(text, room)):
        left = f"{label:{LABEL}}" if at == 0 else " " * LABEL
        made.append([(left, "dim"), (part, "")])
    return made


def wrapped(text: str, room: int) -> Iterable[str]:
    """The text in lines of at most `room` columns, broken between words."""
    line = ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def last_line(trace: Trace, totals: Totals) -> Line:
    """How long it took, and what a real run would have allocated."""
    return [
        (f"traced in {units.duration(trace.seconds)} with no data; ", ""),
        (f"a real run would have allocated {units.nbytes(totals.real_bytes)}", "bold"),
    ]


def _parameters(totals: Totals) -> str:
    if not totals.parameters:
        return "none"
    size = units.nbytes(totals.parameter_bytes)
    parts = [f"{totals.parameters:,} ({size})"]
    frozen = totals.parameters - totals.trainable
    if frozen == totals.parameters:
        parts[0] += ", none trainable"
    elif frozen:
        parts[0] += f", {totals.trainable:,} trainable"
    else:
        parts[0] += ", all trainable"
    if totals.tied:
        tied = _few([f"`{name}` is `{first}`" for name, first in totals.tied])
        parts.append(f"tied, counted once: {tied}")
    if totals.unused:
        names = _few([f"`{path}`" for path in totals.unused])
        parts.append(f"{totals.unused_parameters:,} never used: {names}")
    return "; ".join(parts)


def _arithmetic(totals: Totals) -> str:
    multiply_adds = units.count(totals.multiply_adds)
    text = f"{units.flops(totals.flops)}, that is {multiply_adds} multiply-adds"
    if not totals.flops:
        text = "0 FLOPs"
    if not totals.uncounted:
        return text
    missed = _few([f"`{name}` x {count}" for name, count in totals.uncounted])
    return f"{text}; torch counts none for {missed}"


def _largest(totals: Totals) -> str:
    assert totals.largest is not None
    op, fact = totals.largest
    where = f" at {line_of(op.span, True)}" if op.span is not None else ""
    size = units.nbytes(fact.nbytes)
    return f"{shapes.with_dtype(fact)}, {size}, from {op.name}{where}"


def _few(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
