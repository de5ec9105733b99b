"""A trace as flat rows of plain values, for pandas and other tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shapewright.record.ops import ModuleCall, Op, collect_leaves
from shapewright.record.totals import Subtotal

MODULE_FIELDS = (
    "module", "call", "class", "depth", "input", "output", "params", "flops",
    "allocated_bytes",
)  # fmt: skip
"""The keys of a row by module: bytes are those of new storage."""

OP_FIELDS = (
    "op", "name", "module", "call", "file", "line", "input", "output", "kind", "flops",
    "bytes_read", "bytes_written",
)  # fmt: skip
"""The keys of a row by op; `call` is the number of the module's call."""


def list_module_rows(
    calls: Sequence[ModuleCall], subtotals: Sequence[Subtotal]
) -> list[dict[str, Any]]:
    """Return a dict for each module call, with its children in its FLOPs and bytes.

    Shapes are texts (`f32[8, 10]`), counts and bytes are numbers.
    """
    rows = (
        (
            call.path, call.call, call.class_name, call.depth,
            _describe_nest(call.inputs), _describe_nest(call.output),
            subtotal.parameters, subtotal.flops, subtotal.written,
        )
        for call, subtotal in zip(calls, subtotals, strict=True)
    )  # fmt: skip
    return [dict(zip(MODULE_FIELDS, row, strict=True)) for row in rows]


def list_op_rows(ops: Iterable[Op]) -> list[dict[str, Any]]:
    """Return a dict for each op; shapes are texts, counts and bytes are numbers."""
    rows = (
        (
            op.index, op.name, op.module, op.call,
            op.span.file if op.span is not None else "",
            op.span.line if op.span is not None else None,
            _describe_nest(op.inputs), _describe_nest(op.outputs), op.kind,
            op.flops, op.bytes_read, op.bytes_written,
        )
        for op in ops
    )  # fmt: skip
    return [dict(zip(OP_FIELDS, row, strict=True)) for row in rows]


def _describe_nest(nest: Any) -> str:
    return ", ".join(map(str, collect_leaves(nest)))
