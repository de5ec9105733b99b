"""Sizes that are read from another dim: `x.shape[1]` for `x.shape[0]`, `B, T = x.shape`
for `T, B = x.shape`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from shapewright.analysis.fixes.constructors import find_size_pairs
from shapewright.analysis.fixes.scope_tensors import list_scope_facts
from shapewright.analysis.fixes.suspect_lines import (
    find_suspects,
    iter_named_facts,
    iter_nodes_on,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    ATTENTION_MASK_SHAPE,
    DOES_NOT_DIVIDE,
    ELEMENT_COUNT_MISMATCH,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Frame
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_shape_owner,
)
from shapewright.record.ops import Fact, Op


def suggest_other_shape_dim(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the dim of a tensor that has the size which a call needs, where the size
    that it got was read from another dim of that tensor.
    """
    known_pairs = [
        *find_size_pairs(program, failure),
        *_find_mask_pairs(program, failure),
    ]
    pairs = {frozenset(pair) for pair in known_pairs if 1 not in pair}
    if not pairs:
        return
    op = program.trace.ops[failure.op]
    lines = find_suspects(program, failure)
    if failure.unmet is not None and failure.unmet.code == ATTENTION_MASK_SHAPE:
        yield from _read_other_tensors(program, failure, known_pairs)
    for text, node in iter_nodes_on(program, lines, ast.Subscript, ast.Call):
        read = _get_read(node)
        if read is None or _is_bound_of_columns(text, node, op):
            continue
        owner, place, dim = read
        fact = iter_named_facts(program, op, text, node).get(text.written(owner))
        if fact is None or not -len(fact.shape) <= dim < len(fact.shape):
            continue
        size = fact.shape[dim]
        for other, wanted in enumerate(fact.shape):
            if frozenset((size, wanted)) in pairs and size != wanted:
                new = other if dim >= 0 else other - len(fact.shape)
                yield _replace_dim(text, node, place, new)
    for text, node in iter_nodes_on(program, lines, ast.Attribute, ast.Call):
        statement = text.parent(node)
        if isinstance(statement, ast.Assign) and statement.value is node:
            yield from _swap_names(text, statement)


def _is_bound_of_columns(text: SourceText, node: ast.AST, op: Op) -> bool:
    """Return whether a read size bounds the rows of a table that has one column for
    all samples, `table[: x.size(1)]` of (50, 1, 32): the dim that is read is meant,
    and the column is what stands in the way of it.
    """
    if not isinstance(text.parent(node), ast.Slice):
        return False
    return any(fact.ndim == 3 and fact.shape[1] == 1 for fact in op.inputs)


def _find_mask_pairs(program: Program, failure: Failure) -> list[tuple[int, int]]:
    """Return the length that a square mask of attention has, and the one it needs."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != ATTENTION_MASK_SHAPE or len(op.inputs) < 4:
        return []
    at = -2 if op.name.endswith("scaled_dot_product_attention") else 0
    queries, keys = (fact.shape[at] for fact in op.inputs[:2])
    squares = {
        fact.shape[-1]
        for fact in op.inputs[3:]
        if fact.ndim >= 2 and fact.shape[-1] == fact.shape[-2]
    }
    return [(size, queries) for size in squares if size != queries == keys]


def _read_lengths(
    program: Program,
    op: Op,
    lines: list[tuple[str, int]],
    pairs: list[tuple[int, int]],
) -> Iterator[Fix]:
    """Suggest `x.size(1)` for the number with which a function makes a mask."""
    for text, node in iter_nodes_on(program, lines, ast.Call, ast.Call):
        if not isinstance(node, ast.Call) or "mask" not in get_called_name(node):
            continue
        for argument, (has, needs) in itertools.product(node.args, pairs):
            if evaluate_whole_number(argument) != has:
                continue
            for name, tensor in list_scope_facts(program, op, text, node).items():
                dims = [at for at, size in enumerate(tensor.shape[:2]) if size == needs]
                if tensor.ndim < 2 or not dims or not name.isidentifier():
                    continue
                new = f"{name}.size({dims[0]})"
                shown = f"`{text.line_of(node.func)}({new})`"
                yield Fix("fits", shown, (Edit(text.span(argument), new),))


def _read_other_tensors(
    program: Program, failure: Failure, pairs: list[tuple[int, int]]
) -> Iterator[Fix]:
    """Suggest to read the length of a mask off another tensor in scope, or off another
    dim, where the mask is asked for.
    """
    op = program.trace.ops[failure.op]
    frames = [
        frame.span for fact in op.inputs[3:] for frame in _list_frames(program, fact)
    ]
    lines = [(span.file, span.line) for span in dict.fromkeys(reversed(frames))]
    yield from _read_lengths(program, op, lines, pairs)
    for text, node in iter_nodes_on(program, lines, ast.Subscript, ast.Call):
        read = _get_read(node)
        if read is None:
            continue
        owner, place, dim = read
        facts = list_scope_facts(program, op, text, node)
        fact = facts.get(text.written(owner))
        if fact is None or not -fact.ndim <= dim < fact.ndim:
            continue
        for has, needs in pairs:
            if fact.shape[dim] != has:
                continue
            for other, size in enumerate(fact.shape):
                if size == needs:
                    yield _replace_dim(text, node, place, other)
            for name, tensor in facts.items():
                if tensor.ndim == fact.ndim and tensor.shape[dim] == needs:
                    written = join_lines(text.written(node))
                    shown = written.replace(text.written(owner), name, 1)
                    edit = Edit(text.span(owner), name)
                    yield Fix("fits", f"`{shown}`", (edit,))


def _list_frames(program: Program, fact: Fact) -> list[Frame]:
    """Return the places from which a tensor, or what it is a view of, was made."""
    frames: list[Frame] = []
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None:
            break
        frames += maker.frames
        if not maker.inputs:
            break
        fact = maker.inputs[0]
    return frames


FARTHEST = 6


def _get_read(node: ast.expr) -> tuple[ast.expr, ast.expr, int] | None:
    """Return `x`, the place of the dim and the dim of `x.shape[1]` or `x.size(1)`."""
    if isinstance(node, ast.Subscript):
        owner, place = get_shape_owner(node.value), node.slice
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        owner, place = get_shape_owner(node), node.args[0]
    else:
        return None
    dim = evaluate_whole_number(place, SIGNED)
    return (owner, place, dim) if owner is not None and dim is not None else None


def _replace_dim(text: SourceText, node: ast.expr, place: ast.expr, dim: int) -> Fix:
    """Return the fix that reads another dim."""
    written, old = join_lines(text.written(node)), text.written(place)
    head = written[: len(written) - len(old) - 1]
    shown = f"{head}{dim}{written[-1]}"
    return Fix("fits", f"`{shown}`", (Edit(text.span(place), str(dim)),))


def _swap_names(text: SourceText, statement: ast.Assign) -> Iterator[Fix]:
    """Suggest two names of `batch, length, features = x.shape` in the other order."""
    target = statement.targets[0]
    owner = get_shape_owner(statement.value)
    if owner is None or not isinstance(target, ast.Tuple) or len(target.elts) < 2:
        return
    names = target.elts
    for at in range(len(names) - 1):
        first, second = text.written(names[at]), text.written(names[at + 1])
        if first == second:
            continue
        written = [text.written(name) for name in names]
        written[at], written[at + 1] = second, first
        edits = (
            Edit(text.span(names[at]), second),
            Edit(text.span(names[at + 1]), first),
        )
        shown = f"{', '.join(written)} = {text.written(statement.value)}"
        yield Fix("fits", f"`{join_lines(shown)}`", edits)


OF_VIEWS = frozenset({DOES_NOT_DIVIDE, ELEMENT_COUNT_MISMATCH})
"""Codes of views that do not fit the number of elements."""


def suggest_own_sizes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.view(-1, c, x.shape[2] * x.shape[3])` where the last size of a view is
    computed of another tensor, and the sizes before it are those of `x`.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_VIEWS or len(op.inputs) != 1:
        return
    place = program.call_at(op.span)
    func = place[1].func if place is not None else None
    if place is None or not isinstance(func, ast.Attribute):
        return
    text, call = place
    shape = op.inputs[0].shape
    sizes = call.args
    values = [value for _, value in op.arguments]
    asked = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
    is_whole = all(type(value) is int for value in asked)
    if not is_whole or len(asked) != len(sizes) or not 1 < len(sizes) < len(shape):
        return
    before = [*zip(asked, shape, strict=False)][: len(sizes) - 1]
    owner = text.written(func.value)
    if any(size not in (-1, own) for size, own in before) or not owner.isidentifier():
        return
    rest = range(len(sizes) - 1, len(shape))
    last = sizes[-1]
    if isinstance(last, ast.Constant | ast.Starred):
        return
    edits = [
        Edit(text.span(size), " * ".join(f"{name}.shape[{dim}]" for dim in rest))
        for name, size in _iter_equal_views(text, call)
    ]
    more = f" and {len(edits) - 1} more" if len(edits) > 1 else ""
    new = " * ".join(f"{owner}.shape[{dim}]" for dim in rest)
    yield Fix("fits", f"`{new}`{more}", tuple(edits))


def _iter_equal_views(
    text: SourceText, call: ast.Call
) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of which a function makes views with as many sizes, of which the
    last is written alike, and that size.
    """
    scope = text.around(call, *FUNCTIONS)
    written = ast.unparse(call.args[-1])
    for node in ast.walk(scope) if scope is not None else (call,):
        if not isinstance(node, ast.Call) or len(node.args) != len(call.args):
            continue
        func = node.func
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            continue
        is_view = func.attr in ("view", "reshape")
        if is_view and ast.unparse(node.args[-1]) == written:
            yield func.value.id, node.args[-1]
