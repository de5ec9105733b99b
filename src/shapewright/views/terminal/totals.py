"""The lines below a table: totals, the costs of a real run, and the sizes for which
formulas hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shapewright.record.formulas import Branch, Named
from shapewright.record.ops import Fact
from shapewright.record.totals import Totals
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import Line, Terminal, cells
from shapewright.views.table_rows import line_of

LABEL = 13


def totals_lines(trace: Trace, totals: Totals, terminal: Terminal) -> list[Line]:
    """Return the totals, each with its label, broken to the width."""
    rows = totals_rows(trace, totals)
    return [line for label, text in rows for line in labelled(label, text, terminal)]


def totals_rows(trace: Trace, totals: Totals) -> list[tuple[str, str]]:
    """Return parameters, buffers, arithmetic, the largest tensor
    and all activations.
    """
    rows = (
        []
        if isinstance(trace.output, Fact | None)
        else [("output", formatting.nest(trace.output))]
    )
    rows.append(("parameters", _parameters(totals)))
    if totals.buffers:
        size = formatting.nbytes(totals.buffer_bytes)
        rows.append(
            ("buffers", f"{formatting.plural(totals.buffers, 'element')} ({size})")
        )
    rows.append(("arithmetic", _arithmetic(totals)))
    if totals.largest is not None:
        rows.append(("largest", _largest(totals)))
    size = formatting.nbytes(totals.activation_bytes)
    count = formatting.plural(totals.activations, "new tensor")
    rows.append(
        ("activations", f"{size} in {count} by {formatting.plural(totals.ops, 'op')}")
    )
    return rows


def labelled(label: str, text: str, terminal: Terminal) -> list[Line]:
    """Return a label and its text, broken between words under the text's beginning."""
    room = max(terminal.width - LABEL, 20)
    made: list[Line] = []
    for at, part in enumerate(wrapped(text, room)):
        left = f"{label:{LABEL}}" if at == 0 else " " * LABEL
        made.append([(left, "dim"), (part, "")])
    return made


def wrapped(text: str, room: int) -> Iterable[str]:
    """Yield the text in lines of at most `room` columns, broken between words."""
    line = ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def last_line(trace: Trace, totals: Totals) -> Line:
    """Return how long it took, and what a real run would have allocated."""
    return [
        (f"traced in {formatting.duration(trace.seconds)} with no data; ", ""),
        (
            f"a real run would have allocated {formatting.nbytes(totals.real_bytes)}",
            "bold",
        ),
    ]


def _parameters(totals: Totals) -> str:
    if not totals.parameters:
        return "none"
    size = formatting.nbytes(totals.parameter_bytes)
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
    multiply_adds = formatting.count(totals.multiply_adds)
    text = f"{formatting.flops(totals.flops)}, that is {multiply_adds} multiply-adds"
    if not totals.flops:
        text = "0 FLOPs"
    if not totals.uncounted:
        return text
    missed = _few([f"`{name}` x{count}" for name, count in totals.uncounted])
    return f"{text}; not counted: {missed}"


def _largest(totals: Totals) -> str:
    assert totals.largest is not None
    op, fact = totals.largest
    where = f" at {line_of(op.span, True)}" if op.span is not None else ""
    size = formatting.nbytes(fact.nbytes)
    return f"{formatting.with_dtype(fact)}, {size}, from {op.name}{where}"


def _few(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


MOST_NAMES = 8
"""Constants whose names are shown, at most."""


def _formula_rows(trace: Trace) -> list[tuple[str, str]]:
    """Return labels and texts: where the formulas hold, and what has none."""
    formulas = trace.formulas
    if formulas is None:
        return []
    sizes = ", ".join(f"{n} = {trace.letters[n]}" for n in formulas.letters)
    rows = [("formulas", formulas.text()), ("figures", f"at {sizes}")]
    if formulas.names:
        rows.append(("names", _named(trace, formulas.names)))
    rows += [(name, f"{_said(branch)}") for name, branch in formulas.varying.items()]
    rows += [("branch", _said(branch)) for branch in formulas.branches]
    return rows


def _named(trace: Trace, names: Sequence[Named]) -> str:
    """Return ``12 is n_head, 64 is n_embd // n_head (in blocks.0.attn)``, by module."""
    groups: dict[str, list[str]] = {}
    for each in names[:MOST_NAMES]:
        groups.setdefault(each.module, []).append(f"{each.value} is {each.name}")
    told = [
        f"{', '.join(texts)} (in {path or trace.calls[0].class_name})"
        for path, texts in groups.items()
    ]
    if len(names) > MOST_NAMES:
        told.append(f"{len(names) - MOST_NAMES} more in the record")
    return "; ".join(told)


def _said(branch: Branch) -> str:
    if branch.span is None:
        return branch.message
    return f"{branch.message} ({branch.span.file}:{branch.span.line})"


def formula_lines(trace: Trace, terminal: Terminal) -> list[Line]:
    """Return a line for each statement on the letters."""
    lines: list[Line] = []
    for label, text in _formula_rows(trace):
        lines += labelled(label, text, terminal)
    return lines
