"""Images that are flat where a convolution reads them, and maps that are not where a
linear layer does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from shapewright.analysis.fixes.constructors import change_layer_size
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program, format_product, format_shape
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import INNER_DIM_MISMATCH, NOT_FLATTENED, WRONG_RANK
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Fact, Op

CONVOLUTIONS = values_of("spatial_dims")
VIEWS = operators_with("regroups_dims")


def suggest_unflattened_images(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `images` for `images.view(-1, 28 * 28)` in front of a convolution that
    the images fitted before.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != WRONG_RANK or _get_needed_dims(op) is None:
        return
    first = _find_flattening(program, op)
    layer = program.layer(op)
    if first is None:
        return
    edits: dict[Span, Edit] = {}
    for other in program.failures:
        refused = program.trace.ops[other.op]
        same = program.layer(refused)
        is_same = same is not None and layer is not None and same.path == layer.path
        if refused is not op and not is_same:
            continue
        place = _find_flattening(program, refused)
        if place is not None:
            tail = _get_tail(*place)
            edits.setdefault(tail, Edit(tail, ""))
    text, call = first
    func = call.func
    assert isinstance(func, ast.Attribute)
    shown = f"`{join_lines(text.written(func.value))}`"
    without = f"`{join_lines(text.at(_get_tail(text, call)))}`"
    more = f", in {len(edits)} places" if len(edits) > 1 else ""
    yield Fix("fits", f"{shown} without {without}{more}", tuple(edits.values()))


def _get_needed_dims(op: Op) -> int | None:
    """Return how many dims a convolution of batches reads, or None for another call."""
    dims = CONVOLUTIONS.get(op.name.rpartition(".")[2])
    return dims + 2 if dims is not None and len(op.inputs) > 1 else None


def _find_flattening(program: Program, op: Op) -> tuple[SourceText, ast.Call] | None:
    """Return the call of a method that flattened what fitted a convolution."""
    dims = _get_needed_dims(op)
    if dims is None:
        return None
    channels = op.inputs[1].shape[1]
    for maker in iter_first_makers(program, op.inputs[0]):
        before = maker.inputs[0].shape if maker.inputs else ()
        if maker.name.rpartition(".")[2] not in VIEWS or len(before) != dims:
            continue
        place = program.call_at(maker.span)
        if before[1] != channels or place is None:
            return None
        text, call = place
        is_method = isinstance(call.func, ast.Attribute)
        is_method = is_method and not text.written(call.func).startswith("torch.")
        return place if is_method else None
    return None


def _get_tail(text: SourceText, call: ast.Call) -> Span:
    """Return the text of a method and its arguments, from the dot on."""
    assert isinstance(call.func, ast.Attribute)
    return text.owner_span(call.func).end.until(text.span(call))


def suggest_flat_map(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.flatten(1)` and a layer of as many features as a map has, where a
    linear layer is given the map of a convolution and fits neither its channels nor
    its columns.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    layer = program.layer(op)
    if unmet is None or unmet.code != INNER_DIM_MISMATCH or layer is None:
        return
    fact = op.inputs[0]
    if len(fact.shape) not in (4, 5) or unmet.needs in fact.shape[1:]:
        return
    if len(set(fact.shape[2:])) > 1:
        return  # of a spectrogram each step may be read
    if not _is_of_convolution(program, fact) or type(unmet.needs) is not int:
        return
    node, place = program.node(op.span), find_tensor_expressions(program, op)[0]
    if node is None or place is None:
        return
    flat = append_method(node[0], place[0], ".flatten(1)")
    size = prod(fact.shape[1:])
    for fix in change_layer_size(program, layer.path, unmet.needs, size, ""):
        message = f"{flat.message} and {fix.message}"
        yield Fix("fits", message, (*flat.edits, *fix.edits))
        return


def describe_flat_map(program: Program, failure: Failure) -> Related | None:
    """Return where a map is that nothing flattens, or the images that were flattened
    in front of a convolution.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    place = _find_flattening(program, op)
    if unmet is not None and unmet.code == WRONG_RANK and place is not None:
        text, call = place
        return Related(text.span(call), "the images are flattened here")
    if unmet is None or unmet.code not in (INNER_DIM_MISMATCH, NOT_FLATTENED):
        return None
    fact = op.inputs[0]
    maker = program.producers.get(fact.tensor)
    is_map = len(fact.shape) in (4, 5) and _is_of_convolution(program, fact)
    if (
        not is_map
        or maker is None
        or maker.span is None
        or unmet.needs == fact.shape[1]
    ):
        return None
    sizes = format_product(fact.shape[1:])
    words = f"nothing flattens this map {format_shape(fact)}: {sizes}"
    return Related(maker.span, f"{words} = {prod(fact.shape[1:])} numbers a sample")


def suggest_whole_rows(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `FLAT = CHANNELS * 8 * 8` for a number of features that is too small for
    the map that `x.view(-1, FLAT)` flattens: a sample becomes several rows.
    """
    op = program.trace.ops[failure.op]
    if len(op.inputs) < 2 or not op.inputs[0].shape or not op.inputs[1].shape:
        return
    rows, samples = op.inputs[0].shape[0], op.inputs[1].shape[0]
    if not samples or rows <= samples or rows % samples:
        return
    for maker in iter_first_makers(program, op.inputs[0]):
        before = maker.inputs[0].shape if maker.inputs else ()
        after = maker.outputs[0].shape if maker.outputs else ()
        if len(before) < 3 or len(after) != 2 or before[0] != samples:
            continue
        place = program.call_at(maker.span)
        is_view = maker.name.rpartition(".")[2] in ("view", "reshape")
        if place is None or not is_view or after[0] != rows or len(place[1].args) < 2:
            return
        text, call = place
        name = get_last_name(call.args[-1])
        values = find_defining(text, name) if name else []
        if len(values) == 1 and isinstance(values[0], ast.BinOp | ast.Constant):
            new = _write_product(text, values[0], before[1:])
            edit = Edit(text.span(values[0]), new)
            yield Fix("fits", f"`{name} = {new}`", (edit,))
        return


def _write_product(text: SourceText, node: ast.expr, sizes: tuple[int, ...]) -> str:
    """Write the numbers of a map as a product, with the first factor as it is written
    where that is not a number.
    """
    first = node
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Mult):
        first = first.left
    is_named = isinstance(first, ast.Name | ast.Attribute)
    factors = [text.written(first) if is_named else f"{sizes[0]}", *map(str, sizes[1:])]
    return " * ".join(factors)


def _is_of_convolution(program: Program, fact: Fact) -> bool:
    """Return whether a convolution made a map, or what keeps its dims behind one."""
    for maker in iter_first_makers(program, fact):
        if maker.name.rpartition(".")[2] in CONVOLUTIONS:
            return True
        if maker.kind == "view" or len(maker.outputs[0].shape) != len(fact.shape):
            return False
    return False
