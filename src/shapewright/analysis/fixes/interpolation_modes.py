"""The mode of an interpolation for the dims that there are: `trilinear` for volumes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import WRONG_RANK
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.record.ops import Op

MODES = {3: "linear", 4: "bilinear", 5: "trilinear"}
"""The mode of each number of dims."""
UPSAMPLING = frozenset({"interpolate", "upsample"})


def suggest_interpolation_mode(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the mode that takes as many dims as there are; fewer than a mode takes
    may lack their channels, unless they come from a convolution.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != WRONG_RANK or not op.inputs:
        return
    new = MODES.get(op.inputs[0].ndim)
    if op.name.rpartition(".")[2] not in UPSAMPLING or new is None:
        return
    makers = iter_first_makers(program, op.inputs[0])
    name = f"conv{op.inputs[0].ndim - 2}d"
    is_sure = any(maker.name.endswith(name) for maker in makers)
    fewer = type(unmet.needs) is int and op.inputs[0].ndim < unmet.needs
    if fewer and not is_sure:
        return
    for text, mode in _iter_modes(program, op):
        quote = text.written(mode)[:1]
        edit = Edit(text.span(mode), f"{quote}{new}{quote}")
        yield Fix("fits", f"`mode={edit.text}`", (edit,))
        return


def _iter_modes(program: Program, op: Op) -> Iterator[tuple[SourceText, ast.Constant]]:
    """Yield the text that says a mode: in the call, or where its layer is built."""
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    for span in (op.span, built.span if built is not None else None):
        place = program.call_at(span)
        for word in place[1].keywords if place is not None else ():
            if word.arg != "mode" or place is None:
                continue
            value = word.value
            if isinstance(value, ast.Name):
                value = find_known_value(place[0], value)
            if isinstance(value, ast.Constant) and value.value in MODES.values():
                yield place[0], value
