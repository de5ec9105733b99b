"""Edits for shapes that meet by accident: a loss of `(N, 1)` and `(N,)`, a view that
mixes two dims, a batch that is squeezed away.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from math import isqrt, prod

from shapewright.analysis.fixes.constructors import change_layer_size, resize_producer
from shapewright.analysis.fixes.head_views import (
    is_cut_around_tokens,
    suggest_heads_behind_tokens,
)
from shapewright.analysis.fixes.operands import TIGHT, append_method
from shapewright.analysis.fixes.order_edits import find_view_back
from shapewright.analysis.hazards.relative_coordinates import (
    find_source,
    is_of_coordinates,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_expressions,
    is_namespace,
)
from shapewright.analysis.training_mistakes.array_shapes import find_pairs, get_sides
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Fact, Op


def suggest_equal_ranks(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `pred.squeeze(-1)` or `target.unsqueeze(1)`."""
    for op in program.trace.ops:
        if op.span != finding.span or len(op.inputs) < 2:
            continue
        left_shape, right_shape = op.inputs[0].shape, op.inputs[1].shape
        is_single = right_shape == (*left_shape[:-1], 1) != left_shape
        if left_shape and is_single and not _has_chosen_outputs(program, op.inputs[0]):
            yield from resize_producer(program, op.inputs[0], -1, 1)
        if len(left_shape) == len(right_shape):
            continue
        long = 0 if len(left_shape) > len(right_shape) else 1
        shape = op.inputs[long].shape
        if abs(len(left_shape) - len(right_shape)) > 1 and set(shape[2:]) == {1}:
            places = find_tensor_expressions(program, op)
            place = places[long] if len(places) > long else None
            if place is not None:
                yield append_method(text, place[0], ".flatten(1)")
        ones = [dim for dim, size in enumerate(shape) if size == 1]
        places = find_tensor_expressions(program, op)
        if ones and len(places) > 1:
            dim = ones[-1] - len(shape) if ones[-1] == len(shape) - 1 else ones[-1]
            slim, wide = places[1 - long], places[long]
            squeezed = (wide, f".squeeze({dim})")
            widened = (slim, f".unsqueeze({ones[-1]})")
            first = op.inputs[long].requires_grad or _is_met_by_row(program, op)
            for place, method in (squeezed, widened) if first else (widened, squeezed):
                if place is not None:
                    yield append_method(text, place[0], method)
        return


def _has_chosen_outputs(program: Program, fact: Fact) -> bool:
    """Return whether one of a layer's outputs is chosen elsewhere, as the best action
    is: the layer needs all of them.
    """
    maker = program.producers.get(fact.tensor)
    if maker is None or len(maker.inputs) < 2:
        return False
    weight = maker.inputs[1].tensor
    twins = {
        op.outputs[0].tensor
        for op in program.trace.ops
        if op.name == maker.name and op.outputs and len(op.inputs) > 1
        if op.inputs[1].tensor == weight
    }
    return any(
        op.name.rpartition(".")[2] in CHOICES and op.inputs[0].tensor in twins
        for op in program.trace.ops
        if op.inputs
    )


CHOICES = frozenset({"argmax", "max", "gather"})


def _is_met_by_row(program: Program, op: Op) -> bool:
    """Return whether pairs of all samples, (N, N), meet a row of them, (N,), next."""
    pairs = op.outputs[0] if op.outputs else None
    return pairs is not None and any(
        fact.shape == pairs.shape[-1:]
        for user in program.trace.ops
        if any(fact.tensor == pairs.tensor for fact in user.inputs)
        for fact in user.inputs
    )


def suggest_equal_shapes(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `target.view_as(prediction)`."""
    op = program.op_at(finding.span, finding.module)
    places = find_tensor_expressions(program, op) if op is not None else []
    if len(places) > 1 and places[0] is not None and places[1] is not None:
        wanted = join_lines(text.written(places[0][0]))
        if isinstance(places[0][0], ast.Name | ast.Attribute):
            yield append_method(text, places[1][0], f".view_as({wanted})")
    yield from suggest_equal_ranks(program, finding, text, node)


def suggest_squeezed_dim(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `squeeze(-1)` for `squeeze()`, or `flatten(1)` for several dims."""
    op = program.op_at(finding.span, finding.module)
    if op is None or not isinstance(node, ast.Call) or not op.inputs:
        return
    shape = op.inputs[0].shape
    ones = [dim for dim, size in enumerate(shape) if size == 1 and dim > 0]
    if not ones:
        yield from _suggest_no_squeeze(program, text, node)
    if not ones or not isinstance(node.func, ast.Attribute):
        return
    if len(ones) > 1:
        span = text.span(node)
        start = text.owner_span(node.func)
        edit = Edit(Span(span.file, *_get_end(start), *_get_end(span)), ".flatten(1)")
        yield Fix("fits", f"`{text.at(start)}.flatten(1)`", (edit,))
    for dim in reversed(ones):
        number = dim - len(shape) if dim == len(shape) - 1 else dim
        if not node.args and not node.keywords:
            span = text.span(node)
            end = Span(span.file, span.end_line, span.end_column - 1, *_get_end(span))
            shown = join_lines(text.written(node))[:-1] + f"{number})"
            yield Fix("fits", f"`{shown}`", (Edit(end, f"{number})"),))


def _suggest_no_squeeze(
    program: Program, text: SourceText, node: ast.Call
) -> Iterator[Fix]:
    """Suggest `x` for `torch.squeeze(x)` where the batch is all that it can remove, and
    for each such call in the function.
    """
    scope = text.around(node, *FUNCTIONS) or text.tree
    edits: list[Edit] = []
    shown = ""
    for call in ast.walk(scope) if scope is not None else ():
        if not isinstance(call, ast.Call) or get_called_name(call) != "squeeze":
            continue
        op = program.op_at(text.span(call))
        if op is None or not op.inputs or 1 in op.inputs[0].shape[1:]:
            continue
        owner = get_receiver(call)
        is_module = isinstance(owner, ast.Name) and owner.id == "torch"
        value = call.args[0] if is_module and len(call.args) == 1 else owner
        if value is None or call.keywords or (call.args and not is_module):
            continue
        edits.append(Edit(text.span(call), text.written(value)))
        if call is node:
            written = join_lines(text.written(call))
            shown = f"`{join_lines(text.written(value))}` for `{written}`"
    if shown:
        yield Fix("fits", shown, tuple(edits))


def _get_end(span: Span) -> tuple[int, int]:
    """Return the line and column at which a span ends."""
    return span.end_line, span.end_column


def suggest_coordinates(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `coordinates[index]` where a column of other data is read by it."""
    read = program.op_at(finding.related[0].span) if finding.related else None
    source = find_source(program, read)
    if "is read where the coordinates" not in finding.message or source is None:
        return
    assert read is not None
    function, rows = source[0].around(source[1], *FUNCTIONS), read.inputs[0].shape[:-1]
    for op in program.trace.ops:
        place = find_source(program, op) if op.inputs else None
        if place is None or place[0].around(place[1], *FUNCTIONS) is not function:
            continue
        if op.inputs[0].shape[:-1] == rows and is_of_coordinates(place[1]):
            new = ast.unparse(place[1])
            yield Fix("fits", f"`{new}`", (Edit(source[0].span(source[1]), new),))
            return


def suggest_transpose(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `permute` for a view, or a transpose before or after it; the same as a
    method of its tensor for `torch.reshape(x, sizes)`.
    """
    op = program.op_at(finding.span, finding.module)
    if op is None or not isinstance(node, ast.Call) or not op.outputs:
        return
    if not isinstance(node.func, ast.Attribute):
        return
    if is_namespace(node.func.value):
        if len(node.args) == 2 and isinstance(node.args[0], TIGHT):
            owner = text.span(node.args[0])
            whole = text.span(node)
            front = Span(owner.file, whole.line, whole.column, owner.line, owner.column)
            sizes = f"*{text.written(node.args[1])})"
            if isinstance(node.args[1], ast.Tuple | ast.List):
                sizes = ", ".join(map(text.written, node.args[1].elts)) + ")"
            for fix in _suggest_orders(program, op, text, node, owner, sizes):
                yield replace(fix, edits=(Edit(front, ""), *fix.edits))
        return
    if is_cut_around_tokens(op):
        yield from suggest_heads_behind_tokens(program, op, text, node)
        return
    owner, span = text.owner_span(node.func), text.span(node)
    tail = Span(span.file, *_get_end(owner), *_get_end(span))
    rank = len(op.inputs[0].shape)
    if "lays the pieces of each" in finding.message:
        order = finding.message.rpartition("permute(")[2].partition(")")[0]
        new = f".permute({order}).reshape({text.at(tail).partition('(')[2]}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(tail, new),))
        return
    if "of unfolded patches" in finding.message:
        new = f".permute(0, 2, 3, 1, 4, 5).reshape({text.at(tail).partition('(')[2]}"
        shown = join_lines(text.at(owner) + new)
        yield Fix("fits", f"`{shown}`", (Edit(tail, new),))
        return
    if "of one of the" in finding.message:
        yield from _suggest_patches(op, text, owner, span)
        return
    if "several samples in one row" in finding.message and rank > 2:
        yield from _suggest_row_per_sample(program, op, text, tail)
    yield from _suggest_orders(
        program, op, text, node, owner, text.at(tail).partition("(")[2]
    )


def _suggest_orders(
    program: Program, op: Op, text: SourceText, node: ast.Call, owner: Span, sizes: str
) -> Iterator[Fix]:
    """Suggest the dims of a view's tensor in another order, before the view or in its
    place.
    """
    before, after = op.inputs[0].shape, op.outputs[0].shape
    tail = Span(owner.file, *_get_end(owner), *_get_end(text.span(node)))
    rank, method = len(before), get_called_name(node)
    exact = False
    if sorted(before) == sorted(after):
        orders = [
            order
            for order in permutations(range(rank))
            if tuple(before[d] for d in order) == after and order != tuple(range(rank))
        ]
        kept = [order for order in orders if not _is_exchanging_equal(before, order)]
        for order in kept or orders:
            moved = [at for at, d in enumerate(order) if at != d]
            new = f".permute({', '.join(map(str, order))})"
            if len(moved) == 2:
                new = f".transpose({moved[0]}, {moved[1]})"
            yield Fix("fits", f"`{text.at(owner)}{new}`", (Edit(tail, new),))
            exact = True
    if exact:
        return
    if rank == 4 and after == (before[0], before[2], before[1] * before[3]):
        new = f".transpose(1, 2).reshape({sizes}"  # heads beside their features
        yield Fix("fits", f"`{join_lines(text.at(owner) + new)}`", (Edit(tail, new),))
        return
    if rank > 2 and after == (before[0] * before[2], before[1], *before[3:]):
        new = f".transpose(1, 2).reshape({sizes}"  # (B, T, P, ...) to (B * P, T, ...)
        yield Fix("fits", f"`{join_lines(text.at(owner) + new)}`", (Edit(tail, new),))
        return
    for source, target in ((1, rank - 1), (rank - 1, 1)) if rank == 4 else ():
        moved = [d for d in range(rank) if d != source]
        moved.insert(target, source)
        if not _is_regrouped([before[d] for d in moved], after):
            continue
        new = f".permute({', '.join(map(str, moved))}).reshape({sizes}"
        shown = join_lines(text.at(owner) + new)
        back = find_view_back(program, op, text, node) if source == 1 else None
        if back is not None:
            message = f"`{shown}` and {back.message}"
            yield Fix("fits", message, (Edit(tail, new), *back.edits))
        yield Fix("fits", f"`{shown}`", (Edit(tail, new),))
    for first_dim, second_dim in combinations(range(len(before)), 2):
        turned = list(before)
        turned[first_dim], turned[second_dim] = before[second_dim], before[first_dim]
        ends = (first_dim, second_dim) == (0, rank - 1) and rank > 2
        if not ends and _is_regrouped(turned, after):
            new = f".transpose({first_dim}, {second_dim}).reshape({sizes}"
            shown = join_lines(text.at(owner) + new)
            yield Fix("fits", f"`{shown}`", (Edit(tail, new),))
    written = [text.written(argument) for argument in node.args]
    if len(written) == len(after) and len(written) > 2:
        for first_dim, second_dim in combinations(range(len(written)), 2):
            names = list(written)
            names.insert(second_dim, names.pop(first_dim))
            places = list(range(len(names)))
            places.insert(first_dim, places.pop(second_dim))
            turned_back = f".permute({', '.join(map(str, places))})"
            if second_dim == first_dim + 1:
                turned_back = f".transpose({first_dim}, {second_dim})"
            new = f".{method}({', '.join(names)}){turned_back}"
            shown = join_lines(text.at(owner) + new)
            yield Fix("fits", f"`{shown}`", (Edit(tail, new),))
            if second_dim == 1 and prod(after[:2]) == before[0]:
                # What follows may read the dims in the order that they had before.
                new = f".{method}({', '.join(names)})"
                shown = join_lines(text.at(owner) + new)
                yield Fix("fits", f"`{shown}`", (Edit(tail, new),))


def _is_exchanging_equal(before: Sequence[int], order: Sequence[int]) -> bool:
    """Return whether an order of dims turns two of one size around, as the height and
    the width of a square image.
    """
    return any(
        before[first] == before[second] and first > second
        for first, second in combinations(order, 2)
    )


def _is_regrouped(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether each dim of a reshape is a few whole dims in a row, or a part of
    one: (8, 4, 32, 16) to (8, 128, 16), but not to (8, 16, 128).
    """
    first, second = [n for n in before if n != 1], [n for n in after if n != 1]
    while first and second:
        left, right = [first.pop(0)], [second.pop(0)]
        while prod(left) != prod(right):
            side, rest = (left, first) if prod(left) < prod(right) else (right, second)
            if not rest:
                return False
            side.append(rest.pop(0))
        if len(left) > 1 and len(right) > 1:
            return False
    return not first and not second


def _suggest_patches(
    op: Op, text: SourceText, owner: Span, whole: Span
) -> Iterator[Fix]:
    """Suggest `unfold` for a view that was to cut images into square patches."""
    channels, height, width = op.inputs[0].shape[-3:]
    side = isqrt(op.outputs[0].shape[-1] // channels)
    if (
        side * side * channels != op.outputs[0].shape[-1]
        or height % side
        or width % side
    ):
        return
    image = text.at(owner)
    new = f"torch.nn.functional.unfold({image}, {side}, stride={side}).transpose(1, 2)"
    yield Fix("fits", f"`{new}`", (Edit(whole, new),))


def _suggest_row_per_sample(
    program: Program, op: Op, text: SourceText, tail: Span
) -> Iterator[Fix]:
    """Suggest `flatten(1)`, with a layer that takes so many features."""
    before, after = op.inputs[0].shape, op.outputs[0].shape
    sizes = [str(size) for size in before[1:] if size > 1]
    flat = Edit(tail, ".flatten(1)")
    for user in program.trace.ops[op.index + 1 :]:
        layer = program.layer(user)
        if layer is None or not user.inputs or after[-1:] != user.inputs[0].shape[-1:]:
            continue
        written = " * ".join(sizes)
        for fix in change_layer_size(
            program, layer.path, after[-1], prod(before[1:]), written
        ):
            yield Fix("fits", f"`.flatten(1)` and {fix.message}", (flat, *fix.edits))
        return


def suggest_flat_array(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `predictions.ravel()` for a column that meets a row of labels."""
    if finding.span is None:
        return
    is_left = finding.message.find(", 1)") < finding.message.find(",)")
    for pair in find_pairs(text, finding.span.line):
        left, right = get_sides(pair)
        yield append_method(text, left if is_left else right, ".ravel()")
