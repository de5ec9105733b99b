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
from shapewright.views.formatting import Line, Terminal, count_cells
from shapewright.views.table_rows import format_line

LABEL = 13


def format_totals(trace: Trace, totals: Totals, terminal: Terminal) -> list[Line]:
    """Return the totals, each with its label, wrapped to the width."""
    rows = build_totals_rows(trace, totals)
    return [line for label, text in rows for line in label_text(label, text, terminal)]


def build_totals_rows(trace: Trace, totals: Totals) -> list[tuple[str, str]]:
    """Return parameters, buffers, arithmetic, the largest tensor
    and all activations.
    """
    rows = (
        []
        if isinstance(trace.output, Fact | None)
        else [("output", formatting.format_nest(trace.output))]
    )
    rows.append(("parameters", _format_parameters(totals)))
    if totals.buffers:
        size = formatting.format_nbytes(totals.buffer_bytes)
        rows.append(
            (
                "buffers",
                f"{formatting.format_plural(totals.buffers, 'element')} ({size})",
            )
        )
    rows.append(("arithmetic", _format_arithmetic(totals)))
    if totals.largest is not None:
        rows.append(("largest", _format_largest(totals)))
    size = formatting.format_nbytes(totals.activation_bytes)
    count = formatting.format_plural(totals.activations, "new tensor")
    rows.append(
        (
            "activations",
            f"{size} in {count} by {formatting.format_plural(totals.ops, 'op')}",
        )
    )
    return rows


def label_text(label: str, text: str, terminal: Terminal) -> list[Line]:
    """Return a label and its text, which is wrapped between words and indented."""
    room = max(terminal.width - LABEL, 20)
    lines: list[Line] = []
    for at, part in enumerate(wrap_text(text, room)):
        left = f"{label:{LABEL}}" if at == 0 else " " * LABEL
        lines.append([(left, "plain"), (part, "")])
    return lines


def wrap_text(text: str, room: int) -> Iterable[str]:
    """Yield the text in lines of at most `room` columns, wrapped between words."""
    line = ""
    for word in text.split(" "):
        if line and count_cells(line) + 1 + count_cells(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def format_last_line(trace: Trace, totals: Totals) -> Line:
    """Return how long the run took, and how much memory a real run would allocate."""
    return [
        (f"traced in {formatting.format_duration(trace.seconds)} with no data; ", ""),
        (
            "a real run would have allocated"
            f" {formatting.format_nbytes(totals.real_bytes)}",
            "bold",
        ),
    ]


def _format_parameters(totals: Totals) -> str:
    if not totals.parameters:
        return "none"
    size = formatting.format_nbytes(totals.parameter_bytes)
    parts = [f"{totals.parameters:,} ({size})"]
    frozen = totals.parameters - totals.trainable
    if frozen == totals.parameters:
        parts[0] += ", none trainable"
    elif frozen:
        parts[0] += f", {totals.trainable:,} trainable"
    else:
        parts[0] += ", all trainable"
    if totals.tied:
        tied = _list_few([f"`{name}` is `{first}`" for name, first in totals.tied])
        parts.append(f"tied, counted once: {tied}")
    if totals.unused:
        names = _list_few([f"`{path}`" for path in totals.unused])
        parts.append(f"{totals.unused_parameters:,} never used: {names}")
    return "; ".join(parts)


def _format_arithmetic(totals: Totals) -> str:
    multiply_adds = formatting.format_count(totals.multiply_adds)
    work = formatting.format_flops(totals.flops)
    text = f"{work}, that is {multiply_adds} multiply-adds"
    if not totals.flops:
        text = "0 FLOPs"
    if not totals.uncounted:
        return text
    missed = _list_few([f"`{name}` x{count}" for name, count in totals.uncounted])
    return f"{text}; not counted: {missed}"


def _format_largest(totals: Totals) -> str:
    assert totals.largest is not None
    op, fact = totals.largest
    where = f" at {format_line(op.span, True)}" if op.span is not None else ""
    size = formatting.format_nbytes(fact.nbytes)
    return f"{formatting.with_dtype(fact)}, {size}, from {op.name}{where}"


def _list_few(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


MOST_NAMES = 8
"""Constants whose names are shown, at most."""


def _build_formula_rows(trace: Trace) -> list[tuple[str, str]]:
    """Return labels and texts on where the formulas hold and what has none."""
    formulas = trace.formulas
    if formulas is None:
        return []
    sizes = ", ".join(f"{n} = {trace.letters[n]}" for n in formulas.letters)
    rows = [("formulas", formulas.text()), ("figures", f"at {sizes}")]
    if formulas.names:
        rows.append(("names", _format_names(trace, formulas.names)))
    rows += [
        (name, f"{_describe_branch(branch)}")
        for name, branch in formulas.varying.items()
    ]
    rows += [("branch", _describe_branch(branch)) for branch in formulas.branches]
    return rows


def _format_names(trace: Trace, names: Sequence[Named]) -> str:
    """Return ``12 is n_head, 64 is n_embd // n_head (in blocks.0.attn)``, by module."""
    groups: dict[str, list[str]] = {}
    for name in names[:MOST_NAMES]:
        groups.setdefault(name.module, []).append(f"{name.value} is {name.name}")
    texts_by_module = [
        f"{', '.join(texts)} (in {path or trace.calls[0].class_name})"
        for path, texts in groups.items()
    ]
    if len(names) > MOST_NAMES:
        texts_by_module.append(f"{len(names) - MOST_NAMES} more in the record")
    return "; ".join(texts_by_module)


def _describe_branch(branch: Branch) -> str:
    if branch.span is None:
        return branch.message
    return f"{branch.message} ({branch.span.file}:{branch.span.line})"


def format_formula_lines(trace: Trace, terminal: Terminal) -> list[Line]:
    """Return a line for each statement about the letters."""
    lines: list[Line] = []
    for label, text in _build_formula_rows(trace):
        lines += label_text(label, text, terminal)
    return lines
