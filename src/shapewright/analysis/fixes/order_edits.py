"""The dims of an operand in another order: transposed, permuted, or as they were."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from shapewright.analysis.fixes.map_products import suggest_product_of_positions
from shapewright.analysis.fixes.operands import append_method, with_method
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_expressions,
    is_namespace,
)
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    CHANNEL_MISMATCH,
    CHANNELS_LAST,
    DOES_NOT_DIVIDE,
    ELEMENT_COUNT_MISMATCH,
    INNER_DIM_MISMATCH,
    MISSING_TRANSPOSE,
    SHUFFLED_SIZES,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure, Repair
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
)
from shapewright.record.ops import Fact, Op

TURNING = operators_with("transposes_dims") | {"permute"}


def fix_order(program: Program, failure: Failure, sure: bool) -> Iterator[Fix]:
    """Reorder the dims of an operand. With `sure`, yield only the likely orders,
    otherwise only the others.
    """
    op = program.trace.ops[failure.op]
    for repair, method in _iter_orders(program, failure, sure):
        yield from _drop_order(program, op.inputs[repair.tensor], repair.new)
        yield from with_method(program, failure, repair.tensor, method)


def _iter_orders(
    program: Program, failure: Failure, sure: bool
) -> Iterator[tuple[Repair, str]]:
    """Yield the other orders of an operand's dims, each with the method that gives it:
    the likely ones, or the others.
    """
    op = program.trace.ops[failure.op]
    layer = program.layer(op) is not None
    orders = [repair for repair in failure.repairs if repair.kind == "permute"]
    if any(_is_single_move(repair.new) for repair in orders):
        orders = [repair for repair in orders if _is_single_move(repair.new)]
    if failure.unmet is not None and failure.unmet.code in OF_CHANNELS:
        kept = [repair for repair in orders if _is_channel_moved(repair.new)]
        orders = kept or orders
    for repair in orders:
        if layer and not sure:
            return  # a layer's input begins with the batch
        equal = _is_equal_after(op.inputs, repair)
        unmet = failure.unmet
        vague = unmet is not None and unmet.code in VAGUE
        turned = unmet is not None and unmet.code == MISSING_TRANSPOSE
        if ((_is_batch_kept(repair) or equal or turned) and not vague) == sure:
            order = repair.new
            moved = [at for at, dim in enumerate(order) if at != dim]
            if len(moved) == 2:
                yield repair, f".transpose({moved[0]}, {moved[1]})"
            else:
                yield repair, f".permute({', '.join(map(str, order))})"


def suggest_order_where_made(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `return torch.from_numpy(windows).transpose(1, 2)` in the function that
    makes the data of all data sets, whose samples the failing call is given.
    """
    for repair, method in _iter_orders(program, failure, sure=True):
        fact = program.trace.ops[failure.op].inputs[repair.tensor]
        makers = list(iter_first_makers(program, fact))
        is_of_items = bool(makers) and makers[0].name.rpartition(".")[2] == "stack"
        if not is_of_items or not _is_batch_kept(repair):
            continue
        for text in program.own_texts():
            value = _find_returned_data(text)
            if value is not None:
                yield append_method(text, value, method)


def _find_returned_data(text: SourceText) -> ast.expr | None:
    """Return what a function of a file returns that makes the first tensor of each
    `TensorDataset`.
    """
    firsts = [
        node.args[0]
        for node in text.nodes
        if isinstance(node, ast.Call)
        and get_called_name(node) == "TensorDataset"
        and node.args
    ]
    values = [
        value
        for first in firsts
        for value in (find_defining(text, get_last_name(first)) or [first])
    ]
    names = [
        get_called_name(value) if isinstance(value, ast.Call) else ""
        for value in values
    ]
    is_alike = len(set(names)) == 1
    for _, function in text.functions(names[0]) if is_alike else ():
        last = function.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Call):
            return last.value
    return None


def suggest_order_in_loop(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x = x.transpose(1, 2)` first in the loop over a loader, where the loop
    reads its data elsewhere, too: an autoencoder's are also the target of its loss.
    """
    for fix in fix_order(program, failure, sure=True):
        (edit,) = fix.edits if len(fix.edits) == 1 else (None,)
        text = program.text(edit.span.file) if edit is not None else None
        if edit is None or text is None or not edit.text.startswith("."):
            continue
        end = (edit.span.line, edit.span.column - 1)
        names = (n for n in text.nodes if isinstance(n, ast.Name))
        name = next((n for n in names if (n.end_lineno, n.end_col_offset) == end), None)
        loop = text.around(name, ast.For) if name is not None else None
        if name is None or not isinstance(loop, ast.For):
            continue
        is_target = any(
            isinstance(n, ast.Name) and n.id == name.id for n in ast.walk(loop.target)
        )
        reads = [
            n
            for statement in loop.body
            for n in ast.walk(statement)
            if isinstance(n, ast.Name) and n.id == name.id
        ]
        if is_target and len(reads) > 1:
            new = f"{name.id} = {name.id}{edit.text}"
            yield Fix("fits", f"`{new}`", (write_before(text, loop.body[0], new),))


def _drop_order(program: Program, fact: Fact, order: Sequence[int]) -> Iterator[Fix]:
    """Yield a tensor without its `transpose` or `permute`, where another order of the
    dims would only take it back.
    """
    maker = program.producers.get(fact.tensor)
    text_and_call = program.call_at(maker.span) if maker is not None else None
    if maker is None or text_and_call is None or not maker.inputs:
        return
    text, call = text_and_call
    name = maker.name.rpartition(".")[2]
    is_method = isinstance(call.func, ast.Attribute) and not is_namespace(call.func)
    if name not in TURNING or not is_method:
        return
    back = tuple(fact.shape[dim] for dim in order)
    if back != maker.inputs[0].shape or not isinstance(call.func, ast.Attribute):
        return
    owner = text.owner_span(call.func)
    tail = owner.end.until(text.span(call))
    message = f"`{join_lines(text.at(owner))}` without `{join_lines(text.at(tail))}`"
    yield Fix("fits", message, (Edit(tail, ""),))


def suggest_without_permute(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest an image without its `permute` where it had the channels of a convolution
    in their place already, as `ToTensor` gives it: a second one would turn the image.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_CHANNELS or len(op.inputs) < 2:
        return
    image, weight = op.inputs[0].shape, op.inputs[1].shape
    sides = image[-3:]
    if len(image) not in (3, 4) or len(weight) != 4:
        return
    for maker in iter_first_makers(program, op.inputs[0]):
        if not maker.inputs or maker.outputs[0].shape[-3:] != sides:
            return
        before = maker.inputs[0].shape
        if maker.name.rpartition(".")[2] not in TURNING:
            continue
        place = program.call_at(maker.span)
        if before[-3:-2] != weight[1:2] or place is None or is_installed(place[0].file):
            return
        text, call = place
        function = call.func
        whole: ast.expr | None = call.args[0] if call.args else None
        if isinstance(function, ast.Attribute) and not is_namespace(function):
            whole = function.value
        if whole is not None and not isinstance(whole, ast.Starred):
            kept = text.written(whole)
            shown = f"`{join_lines(kept)}` for `{join_lines(text.written(call))}`"
            yield Fix("fits", shown, (Edit(text.span(call), kept),))
        return


OF_CHANNELS = frozenset({CHANNEL_MISMATCH, CHANNELS_LAST})
"""Codes of a convolution that is given another dim for the channels."""


def _is_single_move(order: Sequence[int]) -> bool:
    """Return whether a single dim is moved, and the others stay in their order: images
    that have their channels last keep height before width.
    """
    return any(
        all(a < b for a, b in pairwise(dim for dim in order if dim != moved))
        for moved in order
    )


def _is_channel_moved(order: Sequence[int]) -> bool:
    """Return whether the dim that becomes the channels is the one that is moved: frames
    stay before height and width.
    """
    return all(a < b for a, b in pairwise([order[0], *order[2:]]))


VAGUE = frozenset({SHUFFLED_SIZES, ELEMENT_COUNT_MISMATCH, DOES_NOT_DIVIDE})
"""Codes where that another order fits says little."""


def _is_equal_after(inputs: tuple[Fact, ...], repair: Repair) -> bool:
    """Return whether the reordered dims equal those of another operand."""
    shape = tuple(inputs[repair.tensor].shape[d] for d in repair.new)
    others = (fact.shape for n, fact in enumerate(inputs) if n != repair.tensor)
    return len(set(shape)) > 1 and any(shape == other for other in others)


def _is_batch_kept(repair: Repair) -> bool:
    """Return whether the first dim stays in place: only dims of an image or a sequence
    are swapped.
    """
    order = repair.new
    return len(order) > 2 and order[0] == 0


def suggest_transposed_weight(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.linear(x, w.t())` for a weight that has its rows as columns."""
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    if op.name.rpartition(".")[2] != "linear" or text_and_call is None:
        return
    if program.layer(op) is not None and len(text_and_call[1].args) < 2:
        return  # the weight is the layer's own
    data, weight = op.inputs[0].shape, op.inputs[1].shape
    place = find_tensor_expressions(program, op)[1]
    if len(weight) == 2 and data[-1:] == weight[:1] and place is not None:
        yield append_method(text_and_call[0], place[0], ".t()")


def suggest_swapped_product(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `q @ k.transpose(2, 3)` for `k.transpose(2, 3) @ q` where the product
    does not meet what it is combined with, and the other one does; the product of all
    positions for that of two maps.
    """
    yield from suggest_product_of_positions(program, failure)
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_PRODUCTS or len(op.inputs) != 2:
        return
    for at, fact in enumerate(op.inputs):
        product = _find_product(program, fact)
        if product is None:
            continue
        left, right = (operand.shape for operand in product.inputs[:2])
        if len(left) != len(right) or len(left) < 2 or right[-1] != left[-2]:
            continue
        swapped = (*fact.shape[:-2], right[-2], left[-1])
        other = op.inputs[1 - at].shape
        if unmet.code == BROADCAST_MISMATCH:
            is_met = _is_broadcast(swapped, other)
        else:
            pairs = [(swapped, other), (other, swapped)]
            is_met = len(other) > 1 and pairs[at][0][-1] == pairs[at][1][-2]
        if not is_met:
            continue
        text_and_node = program.node(product.span)
        if text_and_node is None:
            continue
        text, node = text_and_node
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Call) and is_namespace(node.func):
            sides = node.args[:2]
        if len(sides) == 2:
            first, second = (text.written(side) for side in sides)
            edits = (
                Edit(text.span(sides[0]), second),
                Edit(text.span(sides[1]), first),
            )
            yield Fix("fits", f"`{join_lines(f'{second} @ {first}')}`", edits)


def _find_product(program: Program, fact: Fact) -> Op | None:
    """Return the product of matrices that a tensor is, scaled or not."""
    for maker in iter_first_makers(program, fact):
        if maker.name.rpartition(".")[2] in PRODUCTS and len(maker.inputs) == 2:
            return maker
        if not maker.inputs or maker.inputs[0].shape != fact.shape:
            return None
    return None


def _is_broadcast(first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether two shapes line up."""
    return all(
        a == b or 1 in (a, b)
        for a, b in zip(reversed(first), reversed(second), strict=False)
    )


def suggest_view_order(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the sizes of a `view` in another order, where it lays out one row that
    is to meet another dim: `weights.view(1, 1, 1, -1)` for `weights.view(1, 1, -1, 1)`.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    for at, fact in enumerate(op.inputs):
        maker = _find_view(program, fact)
        text_and_call = program.call_at(maker.span) if maker is not None else None
        if maker is None or text_and_call is None:
            continue
        text, call = text_and_call
        if len(call.args) != len(fact.shape):
            continue
        other = op.inputs[1 - at].shape
        if len(other) == len(fact.shape) and sorted(other) == sorted(fact.shape):
            yield from _swap_last_sizes(text, call, fact.shape, other)
        if sum(size > 1 for size in fact.shape) != 1:
            continue
        written = [text.written(size) for size in call.args]
        row = next(dim for dim, size in enumerate(fact.shape) if size > 1)
        for dim in reversed(range(len(fact.shape))):
            order = [n for n in range(len(fact.shape)) if n != row]
            order.insert(dim, row)
            turned = [fact.shape[n] for n in order]
            if dim == row or not _is_broadcast(turned, op.inputs[1 - at].shape):
                continue
            sizes = ", ".join(written[n] for n in order)
            span = text.span(call.args[0]).until(text.span(call.args[-1]))
            shown = f"`{join_lines(text.written(call.func))}({sizes})`"
            yield Fix("fits", shown, (Edit(span, sizes),))


OF_PRODUCTS = frozenset({BROADCAST_MISMATCH, INNER_DIM_MISMATCH, MISSING_TRANSPOSE})
"""Codes where a product may have been computed of the other side."""


def _find_view(program: Program, fact: Fact) -> Op | None:
    """Return the view that gave a tensor its shape."""
    for maker in iter_first_makers(program, fact):
        if maker.name.rpartition(".")[2] in VIEWS:
            return maker
        if not maker.inputs or maker.inputs[0].shape != fact.shape:
            return None
    return None


def _swap_last_sizes(
    text: SourceText, call: ast.Call, shape: tuple[int, ...], other: tuple[int, ...]
) -> Iterator[Fix]:
    """Suggest the last two sizes of a view the other way round, as another tensor has
    them.
    """
    if (*shape[:-2], shape[-1], shape[-2]) != other:
        return
    first, second = call.args[-2:]
    edits = (
        Edit(text.span(first), text.written(second)),
        Edit(text.span(second), text.written(first)),
    )
    sizes = [text.written(size) for size in (*call.args[:-2], second, first)]
    shown = f"`{join_lines(text.written(call.func))}({', '.join(sizes)})`"
    yield Fix("fits", shown, edits)


PRODUCTS = operators_with("is_product")
VIEWS = operators_with("takes_new_sizes")


def find_view_back(
    program: Program, op: Op, text: SourceText, node: ast.Call
) -> Fix | None:
    """Return the edit of the view that makes a map of rows of channels again, behind
    one that made rows of a map: `rows.view(b, h, w, c).permute(0, 3, 1, 2)`.
    """
    shape = op.inputs[0].shape
    for later in program.trace.ops[op.index + 1 :]:
        text_and_call = program.call_at(later.span)
        if later.name.rpartition(".")[2] not in VIEWS or text_and_call is None:
            continue
        where, call = text_and_call
        is_same = where is text and text.around(call, *FUNCTIONS) is text.around(
            node, *FUNCTIONS
        )
        rows = later.inputs[0].shape if later.inputs else ()
        if not is_same or later.outputs[0].shape != shape or rows[-1:] != shape[1:2]:
            continue
        if len(call.args) != len(shape) or not isinstance(call.func, ast.Attribute):
            continue
        first, channels, *pixels = (text.written(size) for size in call.args)
        order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
        sizes = ", ".join([first, *pixels, channels])
        new = f"({sizes}).permute({', '.join(map(str, order))})"
        name = text.span(call.func)
        edit = Edit(name.end.until(text.span(call)), new)
        return Fix("fits", f"`{join_lines(text.at(name) + new)}`", (edit,))
    return None
