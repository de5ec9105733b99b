"""Edits for a window that is larger than what it slides over."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.layer_kinds import suggest_layer_kinds
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import (
    INNER_DIM_MISMATCH,
    KERNEL_TOO_LARGE,
    WINDOW_NUMBERS,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import join_lines
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

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


def suggest_kernel_numbers(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a kernel with as many numbers as the layer has dims to slide along.

    Example: ``nn.Conv1d(width, 64, 1)`` for ``nn.Conv1d(1, 64, (1, width))``, where the
    input has its `width` in dim 1; ``nn.Conv2d`` where the input is as for one.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    text_and_call = program.call_at(built.span) if built is not None else None
    if unmet is None or unmet.code != WINDOW_NUMBERS or text_and_call is None:
        return
    text, call = text_and_call
    arguments = {"in_channels": 0, "kernel_size": 2}
    nodes = {
        name: next((word.value for word in call.keywords if word.arg == name), None)
        or (call.args[at] if len(call.args) > at else None)
        for name, at in arguments.items()
    }
    channels, kernel = nodes["in_channels"], nodes["kernel_size"]
    sizes = op.inputs[1].shape[2:]
    if not isinstance(kernel, ast.Tuple | ast.List) or channels is None:
        return
    entered, weight = op.inputs[0].shape, op.inputs[1].shape
    if len(entered) == len(weight) and entered[1] == weight[1]:
        yield from suggest_layer_kinds(program, op)
        return  # the input has a dim for each of its numbers
    numbers = [text.written(node) for node in kernel.elts]
    count = DIMS.get(op.name.rpartition(".")[2], 0)
    if len(numbers) < count:
        new = f"({', '.join(numbers * count)})" if len(numbers) == 1 else ""
        if new:
            yield Fix("fits", f"`kernel_size={new}`", (Edit(text.span(kernel), new),))
        return
    kept = numbers[:count]
    new = kept[0] if count == 1 else f"({', '.join(kept)})"
    edits = [Edit(text.span(kernel), new)]
    message = f"`kernel_size={new}`"
    wide = [at for at, size in enumerate(sizes) if size == op.inputs[0].shape[1]]
    if wide and wide[-1] >= count:
        edits.insert(0, Edit(text.span(channels), numbers[wide[-1]]))
        message = f"`in_channels={numbers[wide[-1]]}` and {message}"
    yield Fix("fits", message, tuple(edits))


def suggest_global_pooling(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a pooling to one element where a layer takes one feature a channel, and
    an average pooling, made for images of another size, leaves several.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != INNER_DIM_MISMATCH:
        return
    _, got = find_sides(failure)
    if got is None:
        return
    origin = trace_dim(program, program.trace.ops[failure.op].inputs[got[0]], got[1])
    if origin.why != "product" or origin.op is None:
        return
    pooled = origin.op.inputs[0]
    maker = program.producers.get(pooled.tensor)
    if maker is None or len(pooled.shape) < 3 or pooled.shape[1] != unmet.needs:
        return
    before = maker.inputs[0].shape if maker.inputs else ()
    if len(before) != len(pooled.shape) or before[-1] < LARGE * pooled.shape[-1]:
        wide = _get_kernel(maker)
        if wide < LARGE:
            return
    if maker.name.rpartition(".")[2].startswith("avg_pool"):
        yield from _write_adaptive_pooling(program, maker)


def _get_kernel(op: Op) -> int:
    """Return the size of the window of a pooling."""
    for key, value in op.arguments:
        if key in ("1", "kernel_size"):
            size = value[0] if isinstance(value, tuple) and value else value
            return size if type(size) is int else 0
    return 0


DIMS = values_of("spatial_dims")
"""Dims that a convolution slides along, by its name."""
LARGE = 4
"""Elements that a window has at least where it was to cover a whole image."""


def suggest_adaptive_pooling(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a pooling to one element for one whose window is too large.

    Example: ``F.adaptive_avg_pool2d(x, 1)`` for ``F.avg_pool2d(x, 7)``.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != KERNEL_TOO_LARGE:
        return
    yield from _write_adaptive_pooling(program, program.trace.ops[failure.op])


def _write_adaptive_pooling(program: Program, op: Op) -> Iterator[Fix]:
    """Write a pooling to one element for a pooling by a window."""
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


def suggest_half_kernel_padding(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `padding=k // 2` for a convolution over sequences that are shorter than
    its kernel of k.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != KERNEL_TOO_LARGE:
        return
    place = find_constructor(program, op.module)
    if place is None or not op.name.endswith("conv1d"):
        return
    text, call = place
    words = {word.arg: word.value for word in call.keywords}
    kernel = words.get("kernel_size") or (call.args[2] if len(call.args) > 2 else None)
    if kernel is None or "padding" in words or len(call.args) > 4:
        return
    half = f"{text.written(kernel)} // 2"
    if isinstance(kernel, ast.Constant) and isinstance(kernel.value, int):
        half = str(kernel.value // 2)
    yield with_keyword(text, call, f"padding={half}")
