"""Views that cut features into heads and put the heads in front of the tokens."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Op

VIEWS = ("view", "reshape")


def is_cut_around_tokens(op: Op) -> bool:
    """Return whether a view makes (B, heads, N, D // heads) of (B, N, D)."""
    before, after = op.inputs[0].shape, op.outputs[0].shape
    return (
        len(before) == 3
        and len(after) == 4
        and (after[0], after[2]) == before[:2]
        and after[1] * after[3] == before[2]
    )


def suggest_heads_behind_tokens(
    program: Program, op: Op, text: SourceText, node: ast.Call
) -> Iterator[Fix]:
    """Suggest `q.view(B, N, heads, d).transpose(1, 2)` for all views of a function that
    are written as one is, and the transpose back where the heads are joined.
    """
    written = [text.written(size) for size in node.args]
    if len(written) != 4:
        return
    turned = ", ".join([written[0], written[2], written[1], written[3]])
    scope, edits, shown = text.around(node, *FUNCTIONS), [], ""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) not in VIEWS:
            continue
        if text.around(call, *FUNCTIONS) is not scope:
            continue
        if not isinstance(call.func, ast.Attribute):
            continue
        owner = text.written(call.func.value)
        if [text.written(size) for size in call.args] == written:
            new = f"{owner}.{call.func.attr}({turned}).transpose(1, 2)"
            edits.append(Edit(text.span(call), new))
            shown = new if call is node else shown
        elif _is_join_of_heads(program, op, text, call):
            sizes = ", ".join(text.written(size) for size in call.args)
            new = f"{owner}.transpose(1, 2).reshape({sizes})"
            edits.append(Edit(text.span(call), new))
    if shown:
        more = f" and {len(edits) - 1} more" if len(edits) > 1 else ""
        yield Fix("fits", f"`{join_lines(shown)}`{more}", tuple(edits))


def _is_join_of_heads(
    program: Program, op: Op, text: SourceText, call: ast.Call
) -> bool:
    """Return whether a call makes (B, N, D) of heads again, as one view cut them."""
    span = text.span(call)
    return any(
        later.span == span
        and later.inputs[0].shape == op.outputs[0].shape
        and later.outputs[0].shape == op.inputs[0].shape
        for later in program.trace.ops[op.index :]
        if later.inputs and later.outputs
    )
