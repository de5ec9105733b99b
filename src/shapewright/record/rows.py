"""A trace as flat rows of plain values, for pandas and other tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shapewright.record.ops import ModuleCall, Op, collect_leaves
from shapewright.record.totals import Subtotal


def list_module_rows(
    calls: Sequence[ModuleCall], subtotals: Sequence[Subtotal]
) -> list[dict[str, Any]]:
    """Return a dict for each module call, with its children in its FLOPs and bytes.

    Shapes are texts (`f32[8, 10]`), counts and bytes are numbers.
    """
    return [
        {
            "module": call.path,
            "call": call.call,
            "class": call.class_name,
            "depth": call.depth,
            "input": _describe_nest(call.inputs),
            "output": _describe_nest(call.output),
            "parameters": subtotal.parameters,
            "flops": subtotal.flops,
            "allocated_bytes": subtotal.written,
        }
        for call, subtotal in zip(calls, subtotals, strict=True)
    ]


def list_op_rows(ops: Iterable[Op]) -> list[dict[str, Any]]:
    """Return a dict for each op; shapes are texts, counts and bytes are numbers."""
    return [
        {
            "op": op.index,
            "name": op.name,
            "module": op.module,
            "file": op.span.file if op.span is not None else "",
            "line": op.span.line if op.span is not None else None,
            "input": _describe_nest(op.inputs),
            "output": _describe_nest(op.outputs),
            "kind": op.kind,
            "flops": op.flops,
            "bytes_read": op.bytes_read,
            "bytes_written": op.bytes_written,
        }
        for op in ops
    ]


def _describe_nest(nest: Any) -> str:
    return ", ".join(map(str, collect_leaves(nest)))
