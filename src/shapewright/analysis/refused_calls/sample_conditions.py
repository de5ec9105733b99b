"""Batches that a condition on the number of dims takes for one sample: `x.dim() == 2`
for batches, where the samples are no flat rows.
"""

from __future__ import annotations

import ast

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.finding import Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name, get_shape_owner
from shapewright.record.ops import Op

VIEWS = operators_with("takes_new_sizes")
FLAT = 2
"""Dims of a batch of flat samples."""
FARTHEST = 60
"""Calls between the view of a batch and the call that fails."""


def find_batch_as_sample(program: Program, finding: Finding) -> Explanation | None:
    """Return the condition that took a batch for one sample, whose view then mixes the
    samples, with the samples flattened where the model is called.
    """
    failed = program.op_at(finding.span, finding.module)
    if failed is None:
        return None
    start = max(failed.index - FARTHEST, 0)
    for op in reversed(program.trace.ops[start : failed.index]):
        place = program.call_at(op.span)
        if op.name.rpartition(".")[2] not in VIEWS or place is None:
            continue
        if not op.inputs or op.inputs[0].ndim <= FLAT:
            continue
        before, after = op.inputs[0].shape, op.outputs[0].shape
        if after[0] == before[0] or after[:1] != before[1:2] or len(after) != FLAT:
            continue
        text, call = place
        test = _find_test(text, call)
        fix = _flatten_samples(program, op) if test is not None else None
        if test is None or fix is None:
            continue
        owner = get_receiver(call)
        name = text.written(owner) if owner is not None else "x"
        asked, view = text.written(test), join_lines(text.written(call))
        message = (
            f"`{asked}` takes the batch `{name}` {format_shape(op.inputs[0])} for one"
            f" sample, as it has {len(before)} dims: `{view}` makes"
            f" {format_shape(op.outputs[0])} of it. A batch of flat samples is meant"
        )
        related = Related(text.span(test), "this asks for the dims of a flat batch")
        return Explanation(message, (related,), (fix,))
    return None


def _find_test(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the condition on the dims of a tensor in whose other branch a view of it
    stands, or None.
    """
    owner = get_receiver(call)
    for outer in text.outwards(call):
        if isinstance(outer, ast.FunctionDef):
            return None
        if not isinstance(outer, ast.If | ast.IfExp) or owner is None:
            continue
        test: ast.expr = outer.test
        is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if isinstance(test, ast.UnaryOp) and is_negated:
            test = test.operand
        if isinstance(test, ast.Name):
            test = find_last_value(text, test, test.lineno) or test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        limit = test.comparators[0]
        counted = _get_counted(test.left)
        if not isinstance(limit, ast.Constant) or limit.value != FLAT:
            continue
        if counted is None or text.written(counted) != text.written(owner):
            continue
        others = outer.orelse if isinstance(outer.orelse, list) else [outer.orelse]
        is_other = any(call in ast.walk(part) for part in others)
        is_equal = isinstance(test.ops[0], ast.Eq) != is_negated
        if isinstance(test.ops[0], ast.Eq | ast.NotEq) and is_other == is_equal:
            return test
    return None


def _get_counted(node: ast.expr) -> ast.expr | None:
    """Return `x` of `x.dim()`, `x.ndim` and `len(x.shape)`."""
    if isinstance(node, ast.Attribute) and node.attr == "ndim":
        return node.value
    if isinstance(node, ast.Call):
        if get_called_name(node) in ("dim", "ndimension"):
            return get_receiver(node)
        if get_called_name(node) == "len" and len(node.args) == 1:
            return get_shape_owner(node.args[0])
    return None


def _flatten_samples(program: Program, op: Op) -> Fix | None:
    """Return the edits that flatten the samples where the outermost module that reads
    them is called.
    """
    call = program.call_of(op)
    if call is None:
        return None
    tensor, shape = op.inputs[0].tensor, op.inputs[0].shape
    top = None
    while call is not None:
        first = call.inputs[0][0] if call.inputs[0] else None
        if getattr(first, "tensor", None) == tensor and call.span is not None:
            top = call
        call = program.trace.calls[call.parent] if call.parent is not None else None
    if top is None:
        return None
    fixes: dict[object, Fix] = {}
    for other in program.trace.calls:
        first = other.inputs[0][0] if other.inputs[0] else None
        read = getattr(first, "shape", ())
        place = program.call_at(other.span) if other.path == top.path else None
        if place is None or read[1:] != shape[1:] or not place[1].args:
            continue
        fix = append_method(place[0], place[1].args[0], ".flatten(1)")
        fixes.setdefault(place[1], fix)
    edits = tuple(edit for fix in fixes.values() for edit in fix.edits)
    message = " and ".join(dict.fromkeys(fix.message for fix in fixes.values()))
    return Fix("fits", message, edits) if edits else None
