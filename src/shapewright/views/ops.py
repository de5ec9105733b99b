"""The cells of the op table, shared by terminal and notebook."""

from __future__ import annotations

from dataclasses import dataclass

from shapewright.source.span import Span
from shapewright.trace.op import Op
from shapewright.trace.record import Trace
from shapewright.views import shapes, units


@dataclass(frozen=True, slots=True)
class OpRow:
    """One row of the table as text."""

    index: str
    place: str
    name: str
    call: str
    input: str
    output: str
    stride: str
    kind: str
    flops: str
    read: str
    written: str
    module: str


def op_rows(trace: Trace) -> list[OpRow]:
    """A row for each op, in the order of the run."""
    ops = tuple(trace.ops)
    several = len({op.span.file for op in ops if op.span is not None}) > 1
    made = {state.fact.tensor: state.path for state in trace.states}
    wrong = {
        finding.span: f"error[{finding.code}]"
        for finding in trace.findings
        if finding.severity == "error" and finding.span is not None
    }
    rows = []
    for op in ops:
        rows.append(_row(op, several, made, wrong))
        if op.kind in ("same", "inplace"):
            continue
        for fact in op.outputs:
            made[fact.tensor] = f"op {op.index}"
    return rows


def line_of(span: Span | None, file: bool) -> str:
    """``21``, or ``lenet.py:21`` where several files took part."""
    if span is None:
        return ""
    base = span.file.replace("\\", "/").rpartition("/")[2]
    return f"{base}:{span.line}" if file else str(span.line)


def call_text(op: Op) -> str:
    """The op as the user wrote it, tensors left out.

    Example: ``Tensor.flatten(start_dim=1)``, ``/ 8.0``, ``[:, 0]``. Keywords that are
    None or False are left out too: functions of torch get them unasked.
    """
    if op.name.startswith("["):
        inner = ", ".join(_index(value) for _, value in op.arguments)
        return f"[{inner}]{op.name[2:]}"
    if not any(letter.isalpha() for letter in op.name):
        sides = {name: shapes.plain(value) for name, value in op.arguments}
        if op.function.startswith("torch.Tensor.__r"):  # `1 - x`: the number is first
            sides = {"1": sides.get("0", ""), "0": sides.get("1", "")}
        return " ".join(filter(None, (sides.get("0"), op.name, sides.get("1"))))
    parts = [
        shapes.plain(value) if name.isdecimal() else f"{name}={shapes.plain(value)}"
        for name, value in op.arguments
        if name.isdecimal() or not (value is None or value is False)
    ]
    return f"{op.name}({', '.join(parts)})" if parts else op.name


def _index(value: object) -> str:
    """What stands between the brackets; capture writes a slice as its text."""
    if isinstance(value, tuple):
        return ", ".join(map(_index, value))
    return value if isinstance(value, str) else shapes.plain(value)


def _row(op: Op, several: bool, made: dict[int, str], wrong: dict[Span, str]) -> OpRow:
    failed = "" if op.outputs or op.span is None else wrong.get(op.span, "")
    return OpRow(
        index=str(op.index),
        place=line_of(op.span, several),
        name=op.name,
        call=call_text(op),
        input=shapes.shapes(op.inputs),
        output=failed or shapes.results(op.outputs),
        stride=shapes.strides(op.outputs),
        kind=_kind(op, made),
        flops=units.count(op.flops) if op.flops else "",
        read=units.nbytes(op.bytes_read) if op.bytes_read else "",
        written=units.nbytes(op.bytes_written) if op.bytes_written else "",
        module=op.module if op.call == 1 else f"{op.module} (call {op.call})",
    )


def _kind(op: Op, made: dict[int, str]) -> str:
    """What the op did to memory; for a view, the op or state that it looks at."""
    if op.kind == "view":
        return f"view of {made.get(op.view_of or 0, 'input')}"
    return _KINDS.get(op.kind, op.kind)


_KINDS = {"new": "", "inplace": "in place", "same": "input itself"}
