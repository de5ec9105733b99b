"""A map of features where one vector for each image was meant: the pooling lacks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import INNER_DIM_MISMATCH, NOT_FLATTENED
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

CONVOLUTIONS = values_of("spatial_dims")
PRODUCTS = operators_with("is_product", "transposes_dims")
"""Operators that read a vector of each image."""
MOST_STEPS = 40
"""Calls between a map and the call that reads it."""


def suggest_pooled_map(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a pooling to one element where a layer takes one feature a channel, or
    where the maps of images are multiplied.

    Examples: ``self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))`` for ``self.fc(x)``
    with `x` (N, 512, 7, 7); ``list(net.children())[:-1]`` for ``[:-2]``, which also
    leaves out the pooling.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None:
        return
    if unmet.code == INNER_DIM_MISMATCH and op.name.endswith("linear"):
        yield from _write_pooled_input(program, failure, op)
    elif unmet.code == NOT_FLATTENED and op.name.endswith("linear"):
        yield from _write_in_front(program, op, "Flatten()")
    elif op.name.rpartition(".")[2] in PRODUCTS and _has_pooling(program, op):
        yield from _write_pooled_calls(program, op)


def _write_pooled_input(program: Program, failure: Failure, op: Op) -> Iterator[Fix]:
    """Suggest the pooling in front of a linear layer."""
    assert failure.unmet is not None
    channels, fact, reader = failure.unmet.needs, op.inputs[0], op
    flat = not _is_map(fact)
    if flat:
        _, got = find_sides(failure)
        way = trace_dim(program, fact, got[1]) if got is not None else None
        if way is None or way.why != "product" or way.op is None:
            return
        fact, reader = way.op.inputs[0], way.op
    if not _is_map(fact) or fact.shape[1] != channels or _is_pooled(program, fact):
        return
    cut = list(_find_shorter_cut(program, fact)) if flat else []
    yield from cut
    if cut or (flat and not _has_pooling(program, op)):
        return  # a layer for the flat map may be meant
    place = find_tensor_expressions(program, reader)[0]
    node = program.node(reader.span)
    if place is not None and node is not None:
        text = node[0]
        yield _write_pooled(text, place[0], _write_pooling(text, len(fact.shape)), flat)
        return
    yield from _write_layers(program, op, len(fact.shape))


def _is_pooled(program: Program, fact: Fact) -> bool:
    """Return whether a pooling to a fixed size made a map: one vector is not meant."""
    maker = program.producers.get(fact.tensor)
    return maker is not None and "adaptive" in maker.name


def _is_map(fact: Fact) -> bool:
    """Return whether a tensor has rows and columns behind its channels."""
    return len(fact.shape) in (4, 5) and min(fact.shape[2:]) > 1


def _write_pooling(text: SourceText, rank: int) -> str:
    """Return the name of the function that pools a map of a number of dims."""
    names = {alias.asname for node in text.nodes if isinstance(node, ast.Import
             | ast.ImportFrom) for alias in node.names}  # fmt: skip
    owner = "F" if "F" in names else "torch.nn.functional"
    return f"{owner}.adaptive_avg_pool{rank - 2}d"


def _write_pooled(text: SourceText, node: ast.expr, function: str, flat: bool) -> Fix:
    """Return the fix that pools an expression, and flattens it if nothing else does."""
    written = text.written(node)
    new = f"{function}({written}, 1)" + ("" if flat else ".flatten(1)")
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _write_layers(program: Program, op: Op, rank: int) -> Iterator[Fix]:
    """Suggest the pooling in front of a layer in a list of layers; a convolution of
    size 1 where the layer is put into the list of a library's model.
    """
    yield from _write_in_front(
        program, op, f"AdaptiveAvgPool{rank - 2}d(1)", "Flatten()"
    )
    place = _find_built(program, op)
    statement = place[0].parent(place[1]) if place is not None else None
    if place is None or not isinstance(statement, ast.Assign):
        return
    text, call = place
    if isinstance(statement.targets[0], ast.Subscript) and len(call.args) == 2:
        owner = text.written(call.func).removesuffix(get_called_name(call))
        channels = ", ".join(map(text.written, call.args))
        new = f"{owner}Conv{rank - 2}d({channels}, kernel_size=1)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def _write_in_front(program: Program, op: Op, *layers: str) -> Iterator[Fix]:
    """Suggest layers in front of another one in an `nn.Sequential`."""
    place = _find_built(program, op)
    around = place[0].parent(place[1]) if place is not None else None
    if isinstance(around, ast.Starred):
        around = None
    if place is None or not isinstance(around, ast.Call):
        return
    text, call = place
    if get_called_name(around) != "Sequential":
        return
    owner = text.written(call.func).removesuffix(get_called_name(call))
    new = "".join(f"{owner}{layer}, " for layer in layers)
    span = text.span(call)
    start = Span(span.file, span.line, span.column, span.line, span.column)
    message = f"`{new.rstrip(', ')}` before `{join_lines(text.written(call))}`"
    yield Fix("fits", message, (Edit(start, new),))


def _find_built(program: Program, op: Op) -> tuple[SourceText, ast.Call] | None:
    """Return the call that builds the layer of an op."""
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    return program.call_at(built.span) if built is not None else None


def is_of_columns(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether a linear layer for channels would be built for the columns of a
    map instead.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INNER_DIM_MISMATCH or not op.inputs:
        return False
    fact = op.inputs[0]
    place = _find_built(program, op)
    if place is None or not _is_map(fact) or fact.shape[1] != unmet.needs:
        return False
    lines = range(place[1].lineno, (place[1].end_lineno or place[1].lineno) + 1)
    return any(
        edit.text == f"{fact.shape[-1]}" and edit.span.line in lines
        for edit in fix.edits
    )


def _find_shorter_cut(program: Program, fact: Fact) -> Iterator[Fix]:
    """Suggest `[:-1]` for a `[:-2]` that cuts the pooling off with the last layer."""
    maker = program.producers.get(fact.tensor)
    path = maker.module if maker is not None else ""
    while path:
        built = program.built.get(path)
        text_and_call = program.call_at(built.span) if built is not None else None
        for node in ast.walk(text_and_call[1]) if text_and_call is not None else ():
            if text_and_call is None or not isinstance(node, ast.Subscript):
                continue
            text, cut = text_and_call[0], node.slice
            is_cut = isinstance(cut, ast.Slice) and cut.lower is None
            of_children = "children()" in text.written(node.value)
            if not is_cut or not isinstance(cut, ast.Slice) or cut.upper is None:
                continue
            if of_children and evaluate_whole_number(cut.upper, SIGNED) == -2:
                shown = f"{text.written(node.value)}[:-1]"
                edit = Edit(text.span(cut.upper), "-1")
                yield Fix("fits", f"`{join_lines(shown)}`", (edit,))
                return
        path = path.rpartition(".")[0]


def _has_pooling(program: Program, op: Op) -> bool:
    """Return whether the program's text pools a map to one element elsewhere."""
    text = program.text(op.span.file) if op.span is not None else None
    if text is None:
        return False
    return any(
        get_called_name(node).lower().replace("_", "").startswith("adaptiveavgpool")
        for node in text.nodes
        if isinstance(node, ast.Call)
    )


def _write_pooled_calls(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest the pooling where a program takes the maps from its model: at the calls
    of the methods that give them.
    """
    edits: dict[Span, Edit] = {}
    messages: list[str] = []
    facts = [fact for fact in op.inputs if _is_map(fact) or _is_map_turned(fact)]
    for fact in facts:
        place = _find_taken(program, fact)
        if place is None:
            return
        text, call, rank = place
        fix = _write_pooled(text, call, _write_pooling(text, rank), False)
        if fix.edits[0].span not in edits:
            edits[fix.edits[0].span] = fix.edits[0]
            messages.append(fix.message)
    if edits:
        more = f" and {len(edits) - 1} more" if len(edits) > 1 else ""
        yield Fix("fits", messages[0] + more, tuple(edits.values()))


def _is_map_turned(fact: Fact) -> bool:
    """Return whether a tensor has four dims, as a transposed map has."""
    return len(fact.shape) == 4 and min(fact.shape) > 1


def _find_taken(
    program: Program, fact: Fact
) -> tuple[SourceText, ast.Call, int] | None:
    """Return the call outside all models that gave the map behind a tensor."""
    waiting, seen = [fact], {fact.tensor}
    for _ in range(MOST_STEPS):
        if not waiting:
            return None
        maker = program.producers.get(waiting.pop(0).tensor)
        if maker is None:
            continue
        if maker.name.rpartition(".")[2] in CONVOLUTIONS:
            for frame in maker.frames:
                text_and_call = program.call_at(frame.span)
                if text_and_call is None:
                    continue
                text, call = text_and_call
                own = isinstance(call.func, ast.Attribute) and isinstance(
                    call.func.value, ast.Name
                )
                of_model = own and not text.around(call, ast.ClassDef)
                if of_model:
                    return text, call, len(maker.outputs[0].shape)
            return None
        new = [operand for operand in maker.inputs if operand.tensor not in seen
               and operand.tensor not in program.states]  # fmt: skip
        seen.update(operand.tensor for operand in new)
        waiting += new
    return None
