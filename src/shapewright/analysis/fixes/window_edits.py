"""Edits for a window that is larger than what it slides over."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import KERNEL_TOO_LARGE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import join_lines
from shapewright.program.syntax_nodes import get_called_name

FUNCTIONS = {
    f"{kind}_pool{dims}d": f"adaptive_{kind}_pool{dims}d"
    for kind in ("avg", "max")
    for dims in (1, 2, 3)
}
LAYERS = {
    f"{kind}Pool{dims}d": f"Adaptive{kind}Pool{dims}d"
    for kind in ("Avg", "Max")
    for dims in (1, 2, 3)
}


def suggest_adaptive_pooling(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a pooling to one element for one whose window is too large.

    Example: ``F.adaptive_avg_pool2d(x, 1)`` for ``F.avg_pool2d(x, 7)``.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != KERNEL_TOO_LARGE:
        return
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    span = op.span
    if layer is not None:
        built = program.built.get(layer.path)
        span = built.span if built is not None else None
    text_and_call = program.call_at(span)
    if text_and_call is None:
        return
    text, call = text_and_call
    name = get_called_name(call)
    new = FUNCTIONS.get(name) or LAYERS.get(name)
    if new is None or not isinstance(call.func, ast.Attribute | ast.Name):
        return
    owner = text.written(call.func).removesuffix(name)
    arguments = (
        [text.written(argument) for argument in call.args[:1]]
        if name in FUNCTIONS
        else []
    )
    written = f"{owner}{new}({', '.join([*arguments, '1'])})"
    edit = Edit(text.span(call), written)
    yield Fix("fits", f"`{join_lines(written)}`", (edit,))
