"""The cells of the module table, shared by terminal and notebook."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shapewright.trace.module import leaves
from shapewright.trace.record import Trace
from shapewright.trace.totals import Subtotal, Totals
from shapewright.views import shapes, units
from shapewright.views.glyphs import Glyphs
from shapewright.views.tree import Row, rows

STOPPED = "did not return"
ELSEWHERE = "(in parentheses: tensors that another row counts)"


@dataclass(frozen=True, slots=True)
class ModuleRow:
    """One row of the table as text; `again` marks parameters counted before."""

    label: str
    lasts: tuple[bool, ...]
    count: int
    kind: str
    input: str
    output: str
    parameters: str
    flops: str
    allocated: str
    again: bool
    subtotal: Subtotal

    def tree(self, glyphs: Glyphs) -> str:
        """The branches before the label; nothing for the root."""
        if not self.lasts:
            return ""
        bars = ["   " if last else glyphs.bar for last in self.lasts[:-1]]
        return "".join(bars) + (glyphs.last if self.lasts[-1] else glyphs.tee)


def module_rows(trace: Trace, totals: Totals) -> list[ModuleRow]:
    """The rows in the order of the run, repeated blocks folded."""
    stopped = stopped_calls(trace)
    return [
        _row(row, totals.calls[row.first.index], stopped) for row in rows(trace, totals)
    ]


def stopped_calls(trace: Trace) -> frozenset[int]:
    """The module calls that never returned, in a run that broke off."""
    made: set[int] = set()
    at = None if trace.complete or not trace.calls else len(trace.calls) - 1
    while at is not None:
        call = trace.calls[at]
        if call.output is None:
            made.add(at)
        at = call.parent
    return frozenset(made)


def _row(row: Row, subtotal: Subtotal, stopped: Collection[int]) -> ModuleRow:
    call = row.first
    again = subtotal.parameters > 0 and (subtotal.elsewhere or call.call > 1)
    broken = call.index in stopped
    dtype = not broken and _dtypes(call.inputs) != _dtypes(call.output)
    return ModuleRow(
        label=row.label,
        lasts=row.lasts,
        count=row.count,
        kind=_class(row),
        input=shapes.arguments(call, dtype),
        output=STOPPED if broken else shapes.nest(call.output),
        parameters=_parameters(row, subtotal, again),
        flops=_each(row, units.count(subtotal.flops) if subtotal.flops else ""),
        allocated=_each(
            row, units.nbytes(subtotal.written) if subtotal.written else ""
        ),
        again=again,
        subtotal=subtotal,
    )


def _class(row: Row) -> str:
    name = row.first.class_name
    if not row.first.path and row.label == name:
        return ""
    return name if row.count == 1 else f"{name} x {row.count}"


def _dtypes(nest: object) -> set[str]:
    return {fact.dtype for fact in leaves(nest)}


def _parameters(row: Row, subtotal: Subtotal, again: bool) -> str:
    text = units.count(subtotal.parameters) if subtotal.parameters else ""
    if again:
        return f"({text})"
    return text if row.first.path == row.last.path else _each(row, text)


def _each(row: Row, text: str) -> str:
    """The figure of one, with how many there are: ``12 x 7.1 M``."""
    return text if not text or row.count == 1 else f"{row.count} x {text}"
