"""Fixes for an operand with one sample where the others have a batch: a class token,
the queries of a decoder, a first state.

Another size where it is made would hold for one batch only, and for a parameter learn
something else for each sample.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.analysis.fixes.fixed_layers import (
    COLOURS,
    is_fixed_layer,
    suggest_expanded_images,
)
from shapewright.analysis.fixes.maker_edits import find_narrow_gather
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.scope_tensors import (
    list_scope_facts,
    list_scope_numbers,
)
from shapewright.analysis.fixes.suspect_lines import write_size
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    CHANNEL_MISMATCH,
    HIDDEN_STATE_SHAPE,
    INNER_DIM_MISMATCH,
    ONE_VALUE_PER_CHANNEL,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Fact, Op, collect_leaves

OF_FEATURES = frozenset({INNER_DIM_MISMATCH, TARGET_SHAPE})
"""Codes of calls that need other features or predictions, not copies of one."""


def suggest_expanded(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `token.expand(x.size(0), -1, -1)` for a token of one sample."""
    op = program.trace.ops[failure.op]
    if failure.unmet is not None and failure.unmet.code == ONE_VALUE_PER_CHANNEL:
        return  # copies of one value have no spread
    if failure.unmet is not None and failure.unmet.code in OF_FEATURES:
        return  # copies of one feature are no other features
    channels = failure.unmet is not None and failure.unmet.code == CHANNEL_MISMATCH
    if channels and is_own_layer(program, op):
        return  # a layer of the program's own takes what the data have
    if channels and is_fixed_layer(program, op):
        yield from suggest_expanded_images(program, failure)
    if channels:
        yield from _expand_everywhere(program, failure)
    yield from _iter_expanded(program, failure, channels)


def _expand_everywhere(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest images in colour in all calls that are given images in grey, as those
    of training and of evaluation.
    """
    fixes: dict[str, Fix] = {}
    for other in program.failures:
        if other.unmet != failure.unmet:
            continue
        for fix in _iter_expanded(program, other, True):
            fixes.setdefault(str(fix.edits[0].span), fix)
            break
    if len(fixes) > 1:
        shown = " and ".join(dict.fromkeys(fix.message for fix in fixes.values()))
        edits = tuple(edit for fix in fixes.values() for edit in fix.edits)
        calls = "both calls" if len(fixes) == 2 else f"all {len(fixes)} calls"
        yield Fix("fits", f"{shown} in {calls}", edits)


def _iter_expanded(program: Program, failure: Failure, channels: bool) -> Iterator[Fix]:
    """Yield the expanded operands of a call, one for each that has one sample."""
    op = program.trace.ops[failure.op]
    if len(op.inputs) < 2 or find_narrow_gather(program, op) is not None:
        return  # there is no other whose samples it could meet, or no copy is meant
    nodes = [place and place[0] for place in find_tensor_expressions(program, op)]
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return
    text, call = text_and_node
    if not any(nodes) and isinstance(call, ast.Call):
        nodes = list(call.args)  # of a layer that turns them first
    for at, dim, size in dict.fromkeys(_iter_single_dims(failure, op)):
        node = nodes[at] if at < len(nodes) else None
        rank = len(op.inputs[at].shape)
        if node is None or rank < 2 or (channels and size != COLOURS):
            continue
        of_layer = program.layer(op) is not None and "conv" not in op.name
        if dim == rank - 1 and of_layer:
            continue  # copies of one feature are no other features
        sizes = ["-1"] * rank
        written_dim = _get_written_dim(program, op, dim)
        owner = _get_operand_of_size(text, op, nodes, dim, size)
        sizes[written_dim] = (
            f"{owner}.size({written_dim})"
            if owner
            else write_size(program, failure, text, node, size)
        )
        method = f".expand({', '.join(sizes)})"
        if failure.unmet is not None and failure.unmet.code == HIDDEN_STATE_SHAPE:
            # A state is read as it lies: a GPU refuses an expanded one.
            method = f".repeat({', '.join('1' if s == '-1' else s for s in sizes)})"
        yield append_method(text, node, method)
        yield from _expand_where_made(program, op, at, dim, size)


def _expand_where_made(
    program: Program, op: Op, at: int, dim: int, size: int
) -> Iterator[Fix]:
    """Suggest to expand a sample where its batch dim is made, in another function."""
    maker = program.producers.get(op.inputs[at].tensor)
    place = program.node(maker.span) if maker is not None else None
    if maker is None or place is None or maker.name.rpartition(".")[2] not in MAKING:
        return
    text, node = place
    called = program.node(op.span)
    if called is None or not isinstance(node, ast.expr):
        return
    if text.around(node, *FUNCTIONS) is called[0].around(called[1], *FUNCTIONS):
        return
    facts = list_scope_facts(program, op, text, node)
    names = [n for n, fact in facts.items() if fact.shape[dim : dim + 1] == (size,)]
    names += _list_passed_names(program, op, text, node, dim, size)
    for name in names[:1]:
        sizes = ["-1"] * op.inputs[at].ndim
        sizes[dim] = f"{name}.size({dim})"
        yield append_method(text, node, f".expand({', '.join(sizes)})")


def _list_passed_names(
    program: Program, op: Op, text: SourceText, node: ast.expr, dim: int, size: int
) -> list[str]:
    """Return the names, in the function of a node, of what is handed on to a call as
    another of its operands, with so many elements in a dim.
    """
    scope = text.around(node, *FUNCTIONS)
    nodes = [place and place[0] for place in find_tensor_expressions(program, op)]
    names: list[str] = []
    for frame in op.frames:
        place = program.node(frame.span)
        call = place[1] if place is not None else None
        if not isinstance(call, ast.Call) or text.around(call, *FUNCTIONS) is not scope:
            continue
        for _, function in text.functions(get_called_name(call)):
            parameters = [argument.arg for argument in function.args.args]
            if parameters[:1] == ["self"]:
                parameters = parameters[1:]
            passed = dict(zip(parameters, call.args, strict=False))
            for operand, fact in zip(nodes, op.inputs, strict=False):
                name = operand.id if isinstance(operand, ast.Name) else ""
                outer = passed.get(name)
                has_size = fact.shape[dim : dim + 1] == (size,)
                if isinstance(outer, ast.Name) and has_size:
                    names.append(outer.id)
    return names


MAKING = frozenset({"unsqueeze", "[]"})
"""Calls that make a batch dim of one."""


def _get_operand_of_size(
    text: SourceText, op: Op, nodes: Sequence[ast.expr | None], dim: int, size: int
) -> str:
    """Return the name of another operand of a call that has such a size in a dim; an
    empty string if there is none.
    """
    for node, fact in zip(nodes, op.inputs, strict=False):
        is_named = isinstance(node, ast.Name)
        if node is not None and is_named and fact.shape[dim : dim + 1] == (size,):
            return text.written(node)
    return ""


def is_own_layer(program: Program, op: Op) -> bool:
    """Return whether the program's own text builds a layer, for these images alone: no
    library does, its weights are not fixed, and it is given none in colour elsewhere.
    """
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if layer is None or built is None or is_installed(built.span.file):
        return False
    if is_fixed_layer(program, op):
        return False
    return not any(
        fact.shape[1:2] == (COLOURS,)
        for call in program.trace.calls
        if call.path == layer.path
        for fact in collect_leaves(call.inputs)
    )


def suggest_joined_dim(program: Program, op: Op, call: ast.Call) -> Iterator[Fix]:
    """Suggest `actions.unsqueeze(1)` in `torch.cat([states, actions], 1)`, where one
    tensor lacks the dim along which they are joined.
    """
    dims = [value for key, value in op.arguments if key in ("1", "dim")]
    shapes = [fact.shape for fact in op.inputs]
    rank = max(map(len, shapes), default=0)
    text_and_node = program.node(op.span)
    if not dims or type(dims[0]) is not int or rank < 2 or text_and_node is None:
        return
    dim = dims[0] % rank
    whole = next(shape for shape in shapes if len(shape) == rank)
    names = call.args[0].elts if isinstance(call.args[0], ast.Tuple | ast.List) else []
    for node, shape in zip(names, shapes, strict=False):
        if shape == (*whole[:dim], *whole[dim + 1 :]):
            yield append_method(text_and_node[0], node, f".unsqueeze({dims[0]})")


def suggest_dim_where_made(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest `torch.tensor([action]).unsqueeze(0)` where a tensor is made that lacks a
    dim of the others that it is joined with.
    """
    rank = max((fact.ndim for fact in op.inputs), default=0)
    wholes = {fact.shape for fact in op.inputs if fact.ndim == rank}
    places: set[object] = set()
    for fact in op.inputs:
        maker = program.producers.get(fact.tensor)
        place = program.node(maker.span) if maker is not None else None
        if maker is None:
            place = _find_typed_maker(program, fact)
        if fact.ndim != rank - 1 or place is None or place[1] in places:
            continue
        text, node = place
        places.add(node)
        if not isinstance(node, ast.expr):
            continue
        for at in range(rank):
            if (*fact.shape[:at], 1, *fact.shape[at:]) in wholes:
                yield append_method(text, node, f".unsqueeze({at})")


def _find_typed_maker(
    program: Program, fact: Fact
) -> tuple[SourceText, ast.Call] | None:
    """Return the only `torch.LongTensor([...])` of as many numbers, which is no call
    that a run records.
    """
    calls = [
        (text, node)
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call)
        and get_called_name(node).endswith("Tensor")
        and node.args
        and isinstance(node.args[0], ast.List)
        and (len(node.args[0].elts),) == fact.shape
    ]
    return calls[0] if len(calls) == 1 else None


def _iter_single_dims(failure: Failure, op: Op) -> Iterator[tuple[int, int, int]]:
    """Yield (input, dim, size) for each dim of size 1 that would fit with more."""
    for repair in failure.repairs:
        if repair.kind != "size" or repair.dim is None or type(repair.old) is not int:
            continue
        if repair.old == 1 < repair.new:
            yield repair.tensor, repair.dim, repair.new
        if repair.new == 1 < repair.old:
            rank = len(op.inputs[repair.tensor].shape)
            for at, fact in enumerate(op.inputs):
                if len(fact.shape) == rank and fact.shape[repair.dim] == 1:
                    yield at, repair.dim, repair.old


def _get_written_dim(program: Program, op: Op, dim: int) -> int:
    """Return the dim of what the program hands to a layer, which may lay its inputs out
    with the time first.
    """
    layer = program.layer(op)
    handed = collect_leaves([*layer.inputs]) if layer is not None else []
    for fact in handed:
        turned = (*reversed(fact.shape[:2]), *fact.shape[2:])
        if fact.shape[:2] != turned[:2] and dim < 2:
            shapes = [operand.shape for operand in op.inputs]
            if fact.shape not in shapes and turned in shapes:
                return 1 - dim
    return dim


def suggest_other_repeats(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `rest.expand(clips * frames, -1, -1)` where copies are as many as one of
    the names says, and as many are needed as the product of two.
    """
    op = program.trace.ops[failure.op]
    for at, fact in enumerate(op.inputs):
        maker = program.producers.get(fact.tensor)
        place = program.call_at(maker.span) if maker is not None else None
        if maker is None or place is None or at > 1 or len(op.inputs) < 2:
            continue
        if maker.name.rpartition(".")[2] not in REPEATING:
            continue
        text, call = place
        numbers = list_scope_numbers(program, op, text, call)
        other = op.inputs[1 - at]
        for dim, node in enumerate(call.args[: fact.ndim]):
            has = numbers.get(text.written(node))
            needs = other.shape[dim : dim + 1]
            if has is None or fact.shape[dim] != has or not needs or needs[0] == has:
                continue
            names = [
                name for name, number in numbers.items() if number * has == needs[0]
            ]
            for name in names[:1]:
                new = f"{text.written(node)} * {name}"
                shown = text.written(call).replace(text.written(node), new, 1)
                edit = Edit(text.span(node), new)
                yield Fix("fits", f"`{join_lines(shown)}`", (edit,))


REPEATING = frozenset({"expand", "repeat"})
