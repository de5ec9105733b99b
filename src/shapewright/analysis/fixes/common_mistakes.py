"""Fixes for mistakes that are typical of certain operators, or of a
smaller last batch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any

from shapewright.analysis.explanations import iter_both_sides
from shapewright.analysis.fixes.expanded_operands import (
    suggest_dim_where_made,
    suggest_joined_dim,
)
from shapewright.analysis.fixes.ignored_labels import suggest_lower_labels
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.layer_kinds import suggest_layer_kinds
from shapewright.analysis.fixes.mask_edits import suggest_mask_per_head
from shapewright.analysis.fixes.norm_edits import (
    move_channels_last,
    suggest_group_norm,
)
from shapewright.analysis.fixes.numbers_and_names import name_value, replace_number
from shapewright.analysis.fixes.operands import (
    append_method,
    with_method,
    with_method_where_made,
)
from shapewright.analysis.fixes.pattern_edits import suggest_einsum_letters
from shapewright.analysis.fixes.suspect_lines import iter_nodes_on
from shapewright.analysis.makers import is_compared, iter_first_makers
from shapewright.analysis.program_run import Program, as_far_as_known
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.refused_labels import has_label_0
from shapewright.findings.codes import (
    ATTENTION_MASK_SHAPE,
    BROADCAST_MISMATCH,
    IN_PLACE_TOO_SMALL,
    INDEX_OUT_OF_RANGE,
    JOINED_SIZES_DIFFER,
    NORMALIZED_SHAPE,
    ONE_HOT_TARGET,
    TARGET_SHAPE,
    WRONG_RANK,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name, get_last_name
from shapewright.record.ops import Op
from shapewright.record.report import LastBatch

INDEXED = operators_with("indexes_each_element")
JOINS = operators_with("concatenates")
SIZED = operators_with("takes_new_sizes")
DIM_BY_DIM = operators_with("takes_entry_per_dim")
RANGES = operators_with("is_range_factory")
DIFFERENCES = operators_with("subtracts") | {"neg"}


def suggest_family_fixes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Yield the usual fixes for the failing function."""
    op = program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    name = op.name.rpartition(".")[2]
    code = failure.unmet.code if failure.unmet is not None else ""
    if code == INDEX_OUT_OF_RANGE and name in CLASSES:
        yield from _suggest_labels_from_zero(program, failure)
    if code in (TARGET_SHAPE, ONE_HOT_TARGET):
        yield from _suggest_class_indices(program, failure, op)
    if name in INDEXED:
        yield from _suggest_index_dims(program, failure, op, name)
    if code == BROADCAST_MISMATCH:
        yield from _suggest_trailing_dims(program, failure, op)
    if code == NORMALIZED_SHAPE:
        yield from move_channels_last(program, op)
        yield from suggest_group_norm(program, op)
    if code in (BROADCAST_MISMATCH, JOINED_SIZES_DIFFER):
        yield from _suggest_even_sizes(program, failure)
    if code == WRONG_RANK:
        yield from suggest_layer_kinds(program, op)
    if code == ATTENTION_MASK_SHAPE:
        yield from suggest_mask_per_head(program, failure, op)
    if name in JOINS:
        yield from suggest_dim_where_made(program, op)
    if text_and_node is None:
        return
    text, node = text_and_node
    if name == "einsum" and isinstance(node, ast.Call):
        yield from suggest_einsum_letters(text, node, op)
    if name in JOINS and isinstance(node, ast.Call):
        yield from suggest_joined_dim(program, op, node)
    if code == IN_PLACE_TOO_SMALL and isinstance(node, ast.AugAssign):
        yield from _suggest_assignment(text, node)
    if name in SIZED and isinstance(node, ast.Call):
        yield from _suggest_flat_size(program, op)
        yield from _suggest_sizes(text, node, op)
    if name in DIM_BY_DIM and isinstance(node, ast.Call):
        yield from _suggest_number_count(text, node, op, name)
    if name in DIFFERENCES:
        yield from _suggest_inversion(text, node, op)
    if name == "dot":
        yield from _suggest_flattening(program, op)
    if name == "tensordot" and isinstance(node, ast.Call):
        yield from _suggest_dim_count(text, node)
    if name == "stack":
        yield from _suggest_padding(text, node)


def swap_mask_dims(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a padding mask with its two dims exchanged, where its last dim can only
    be the batch: elsewhere it is the layer that lacks `batch_first=True`.
    """
    op = program.trace.ops[failure.op]
    if failure.unmet is None or failure.unmet.code != ATTENTION_MASK_SHAPE:
        return
    for at, name in enumerate(failure.arguments):
        shape = op.inputs[at].shape
        if "mask" in name and len(shape) == 2 and shape[1] == 1:
            method = ".transpose(0, 1)"
            yield from with_method_where_made(program, failure, at, method)


CHAIN = re.compile(r"(\d+)((?: -> \d+){2,})")


def _suggest_even_sizes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest an image size that can be halved as often as the network does."""
    for related in as_far_as_known(iter_both_sides(program, failure)):
        chain = CHAIN.search(related.message)
        if chain is None:
            continue
        sizes = [int(size) for size in re.findall(r"\d+", chain[0])]
        first = sizes[0]
        halved = sum(b <= (a + 1) // 2 for a, b in pairwise(sizes))
        step = 2**halved
        if halved == 0 or first % step == 0:
            continue
        for size in (first + step - first % step, first - first % step):
            if size:
                yield from _replace_sizes(program, first, size)
        return


def _replace_sizes(program: Program, old: int, new: int) -> Iterator[Fix]:
    """Replace a size wherever the program writes it as a number."""
    for file in program.trace.sources:
        text = program.text(file)
        nodes = text.nodes if text is not None else ()
        constants = [n for n in nodes if isinstance(n, ast.Constant) and n.value == old]
        if text is not None and constants and len(constants) < 6:
            edits = tuple(Edit(text.span(node), str(new)) for node in constants)
            yield Fix("fits", f"`{new}` for `{old}`", edits)


def _suggest_flat_size(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest `x.view(-1, 16 * 2 * 2)`, and the layer that takes so many features,
    where the flattened size is another one.
    """
    text_and_call = program.call_at(op.span)
    if text_and_call is None or not op.inputs or len(op.inputs[0].shape) < 3:
        return
    text, call = text_and_call
    arguments = list(call.args)
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        arguments = list(arguments[0].elts)
    numbers = [value for key, value in op.arguments if key.isdecimal()]
    if len(numbers) == 1 and isinstance(numbers[0], tuple):
        numbers = list(numbers[0])
    shape = op.inputs[0].shape
    if len(arguments) != 2 or len(numbers) != 2 or type(numbers[1]) is not int:
        return
    old, new = numbers[1], prod(shape[1:])
    if numbers[0] not in (-1, shape[0]) or old in (new, -1):
        return
    written = " * ".join(map(str, shape[1:]))
    edits = [Edit(text.span(arguments[1]), written)]
    for node in text.nodes:
        linear = get_called_name(node) == "Linear" and isinstance(node, ast.Call)
        first = node.args[0] if linear and node.args else None  # type: ignore[attr-defined]
        if first is not None and evaluate_whole_number(first) == old:
            edits.append(Edit(text.span(first), written))
    shown = f"`{text.written(call.func)}({text.written(arguments[0])}, {written})`"
    more = f" and `nn.Linear({written}, ...)`" if len(edits) > 1 else ""
    yield Fix("fits", shown + more, tuple(edits))


CLASSES = operators_with("has_index_bounds")


def _suggest_labels_from_zero(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `target - 1` for labels from 1 on, `target + 1` for labels from -1."""
    unmet = failure.unmet
    numbers = [int(n) for n in re.findall(r"-?\d+", unmet.message if unmet else "")]
    if unmet is None or "to" not in unmet.message or len(numbers) < 2:
        return
    last, wrong = max(numbers[:2]), numbers[-1]
    shift = {-1: " + 1", last + 1: " - 1"}.get(wrong)
    op = program.trace.ops[failure.op]
    places = find_tensor_expressions(program, op)
    text_and_node = program.node(op.span)
    if shift is None or text_and_node is None or len(places) < 2 or places[1] is None:
        return
    if is_compared(program, op.inputs[1]):
        return  # what is read there would be another class
    if wrong > 0 and has_label_0(program, failure):
        return
    text, node = text_and_node[0], places[1][0]
    lower = list(suggest_lower_labels(text, node, op)) if wrong > 0 else []
    new = text.written(node) + shift
    shifted = Fix("fits", f"`{new}`", (Edit(text.span(node).end, shift),))
    yield from lower or [shifted]


def _suggest_trailing_dims(program: Program, failure: Failure, op: Op) -> Iterator[Fix]:
    """Suggest `scale[:, None, None, None]` for a per-sample number used with images,
    and `t[:, None]` for times beside frequencies that follow from a range.
    """
    shapes = [fact.shape for fact in op.inputs]
    if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]) == 1:
        ranges = [
            any(
                maker.name.rpartition(".")[2] in RANGES
                for maker in iter_first_makers(program, fact)
            )
            for fact in op.inputs
        ]
        if ranges.count(True) == 1:
            yield from with_method(program, failure, ranges.index(False), "[:, None]")
    for at, shape in enumerate(shapes):
        for other in shapes:
            more = len(other) - len(shape)
            if shape and more > 0 and other[: len(shape)] == shape:
                items = [":"] * len(shape) + ["None"] * more
                yield from with_method(program, failure, at, f"[{', '.join(items)}]")


SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
    ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@", ast.BitAnd: "&",
    ast.BitOr: "|",
}  # fmt: skip


def _suggest_assignment(text: SourceText, node: ast.AugAssign) -> Iterator[Fix]:
    """Suggest `x = x + y` for `x += y`, which cannot grow `x`."""
    sign = SIGNS.get(type(node.op))
    if sign is not None:
        target, value = text.written(node.target), text.written(node.value)
        if not isinstance(
            node.value, ast.Name | ast.Attribute | ast.Call | ast.Constant
        ):
            value = f"({value})" if sign not in ("+",) else value
        new = f"{target} = {target} {sign} {value}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_class_indices(program: Program, failure: Failure, op: Op) -> Iterator[Fix]:
    """Suggest class indices for a one-hot target."""
    if len(op.inputs) < 2:
        return
    scores, target = op.inputs[0], op.inputs[1]
    one_hot = len(target.shape) > 1 and len(scores.shape) == len(target.shape)
    if one_hot and target.shape == scores.shape:
        yield from with_method(program, failure, 1, ".argmax(dim=1)")
    rows = (*scores.shape[:1], *scores.shape[2:], *scores.shape[1:2])
    if one_hot and target.shape == rows != scores.shape:
        yield from with_method(program, failure, 1, ".argmax(dim=-1)")
    is_scored = scores.dtype.startswith(("float", "bfloat"))
    if is_scored and target.shape == scores.shape and len(scores.shape) == 1:
        yield from with_method_where_made(program, failure, 1, ".argmax()")
    wanted = (*scores.shape[:1], *scores.shape[2:])
    cast = "" if target.dtype == "int64" else ".long()"
    for dim, size in enumerate(wanted):
        if size == 1 and target.shape == (*wanted[:dim], *wanted[dim + 1 :]):
            method = f".unsqueeze({dim}){cast}"
            yield from with_method_where_made(program, failure, 1, method)
    for dim, size in sorted(enumerate(target.shape), key=lambda pair: pair[0] != 1):
        if size == 1 and wanted == (*target.shape[:dim], *target.shape[dim + 1 :]):
            method = f".squeeze({dim}){cast}"
            yield from with_method_where_made(program, failure, 1, method)


def _suggest_index_dims(
    program: Program, failure: Failure, op: Op, name: str
) -> Iterator[Fix]:
    """Suggest an index with one more dim: dropped by a gather, spread for a scatter."""
    places = find_tensor_expressions(program, op)
    text_and_call = program.call_at(op.span)
    if text_and_call is None or len(places) < 2:
        return
    text, call = text_and_call
    index, ranks = op.inputs[1], [len(fact.shape) for fact in op.inputs]
    place = places[1]
    if place is None or ranks[1] >= ranks[0]:
        return
    source = places[0]
    if name == "gather" and index.shape == op.inputs[0].shape[: ranks[1]]:
        more = ranks[0] - ranks[1]
        if source is not None and source[1] and ranks[1] == 1 and more > 1:
            ones, kept = ", 1" * more, ", 1" * (more - 1)
            method = f".view(-1{ones}).expand(-1{kept}, {source[1]}.size(-1))"
            yield append_method(text, place[0], method)
    if ranks[1] != ranks[0] - 1:
        return
    numbers = [value for key, value in op.arguments if key in ("0", "1", "dim")]
    dim = numbers[0] if numbers and type(numbers[0]) is int else -1
    if name.startswith("scatter") and len(op.inputs) > 2 and ranks[2] == ranks[0]:
        source = places[2]
        if source is not None and index.shape == op.inputs[2].shape[: ranks[1]]:
            method = f".unsqueeze(-1).expand_as({source[1]})"
            yield append_method(text, place[0], method)
    if name == "gather" and index.shape == op.inputs[0].shape[: ranks[1]]:
        unsqueeze = append_method(text, place[0], f".unsqueeze({dim})")
        back = Edit(text.span(call).end, f".squeeze({dim})")
        start, outer = text.span(place[0]), text.span(call)
        whole, own = text.written(call), text.written(place[0])
        column = start.column - outer.column
        if start.line == outer.line == outer.end_line:
            new = unsqueeze.message.strip("`")
            whole = whole[:column] + new + whole[column + len(own) :]
        message = f"`{join_lines(whole)}.squeeze({dim})`"
        yield Fix("fits", message, (*unsqueeze.edits, back))


def _suggest_sizes(text: SourceText, call: ast.Call, op: Op) -> Iterator[Fix]:
    """Suggest the size that the other sizes leave, or the product of the dims from dim
    1 on.
    """
    if not op.inputs or not isinstance(call.func, ast.Attribute):
        return
    shape = op.inputs[0].shape
    whole = prod(shape)
    arguments = list(call.args)
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        arguments = list(arguments[0].elts)
    values = dict(op.arguments)
    known: list[Any] = [values.get(str(n)) for n in range(len(arguments))]
    if all(type(value) is int and value != -1 for value in known):
        for n, node in enumerate(arguments):
            rest = prod(number for m, number in enumerate(known) if m != n)
            if rest and whole % rest == 0:
                size = whole // rest
                shown = name_value(text, node, str(size))
                yield Fix("fits", f"`{shown}`", (_edit_number(text, node, size),))
    if len(arguments) == 2 and len(shape) > 2 and shape[0]:
        rows = prod(shape[1:])
        if isinstance(arguments[1], ast.Constant) and known[1] not in (-1, rows):
            yield Fix(
                "fits",
                f"`{text.written(call.func)}({text.written(arguments[0])}, {rows})`",
                (_edit_number(text, arguments[1], rows),),
            )


def _edit_number(text: SourceText, node: ast.expr, value: int) -> Edit:
    """Return the edit that writes a number in place of an expression."""
    return Edit(text.span(node), str(value))


def _suggest_number_count(
    text: SourceText, call: ast.Call, op: Op, name: str
) -> Iterator[Fix]:
    """Suggest passing as many numbers as the tensor has dims."""
    arguments = list(call.args)
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        arguments = list(arguments[0].elts)
    if not op.inputs or not arguments:
        return
    rank, written = len(op.inputs[0].shape), [text.written(node) for node in arguments]
    lacking = rank - len(arguments)
    if lacking > 0 and name != "permute":
        words = ["1" if name != "expand" else "-1"] * lacking
        for new in ([*words, *written], [*written, *words]):
            yield _replace_numbers(text, call, arguments, new)
    if name == "permute":
        dims = [node.value for node in arguments if isinstance(node, ast.Constant)]
        if len(dims) == len(arguments) and lacking:
            kept = [dim for dim in dims if isinstance(dim, int) and dim < rank]
            missing = [d for d in range(rank) if d not in kept]
            orders = [[*kept, *missing], [*missing, *kept]]
            for order in orders:
                if sorted(order) == list(range(rank)):
                    yield _replace_numbers(
                        text, call, arguments, [str(d) for d in order]
                    )


def _replace_numbers(
    text: SourceText, call: ast.Call, arguments: list[ast.expr], words: list[str]
) -> Fix:
    """Return the fix that replaces all numbers of a call."""
    span = text.span(arguments[0]).until(text.span(arguments[-1]))
    new = ", ".join(words)
    name = get_last_name(call.func)
    return Fix("fits", f"`{name}({new})`", (Edit(span, new),))


def _suggest_inversion(text: SourceText, node: ast.AST, op: Op) -> Iterator[Fix]:
    """Suggest `~mask` for `1 - mask`."""
    if not isinstance(node, ast.BinOp) or any(f.dtype != "bool" for f in op.inputs):
        return
    mask = text.written(node.right)
    if not isinstance(node.right, ast.Name | ast.Attribute | ast.Call):
        mask = f"({mask})"
    for new in (f"(~{mask})", f"(~{mask}).float()"):
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_flattening(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest flattening both vectors of a dot product to 1-D."""
    node = program.node(op.span)
    edits: list[Edit] = []
    for place, fact in zip(
        find_tensor_expressions(program, op), op.inputs, strict=False
    ):
        if place is None or node is None:
            return
        if len(fact.shape) > 1:
            edits += append_method(node[0], place[0], ".flatten()").edits
    if edits:
        yield Fix("fits", "`.flatten()` of both", tuple(edits))


def _suggest_dim_count(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest another number of dims for `tensordot`."""
    for word in call.keywords:
        value = word.value.value if isinstance(word.value, ast.Constant) else None
        for count in (1, 2, 3, 4):
            if word.arg == "dims" and type(value) is int and count != value:
                yield Fix(
                    "fits", f"`dims={count}`", (_edit_number(text, word.value, count),)
                )


def _suggest_padding(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Suggest padding tensors of different lengths to the length of the longest
    tensor.
    """
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        new = "torch.nn.utils.rnn.pad_sequence"
        rows = text.written(node.args[0])
        edits = (
            Edit(text.span(node.func), new),
            Edit(text.span(node.args[0]).end, ", batch_first=True"),
        )
        yield Fix("fits", f"`pad_sequence({rows}, batch_first=True)`", edits)


VIEWS = frozenset({"view", "reshape"})


def suggest_drop_last(program: Program, at: int) -> Iterator[Fix]:
    """Suggest `drop_last=True` for the loader whose smaller last batch
    reached this op.
    """
    for short in _iter_last_batches(program, at):
        for text, node in iter_nodes_on(program, [(short.file, short.line)], ast.Call):
            if get_called_name(node) != short.name:
                continue
            keywords = {word.arg: word.value for word in node.keywords}
            if "drop_last" in keywords:
                edit = Edit(text.span(keywords["drop_last"]), "True")
                yield Fix("fits", "`drop_last=True`", (edit,))
            else:
                yield with_keyword(text, node, "drop_last=True")


def suggest_any_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.view(-1, 20, 5)` for a view with a hard-coded batch size."""
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    if op.name.rpartition(".")[2] not in VIEWS or text_and_call is None:
        return
    text, call = text_and_call
    if call.keywords or not call.args:
        return
    first = call.args[0]
    nodes = first.elts if isinstance(first, ast.Tuple | ast.List) else call.args
    sizes = [value for _, value in op.arguments if type(value) is int]
    if len(sizes) != len(nodes) or -1 in sizes:
        return
    for short in _iter_last_batches(program, failure.op):
        if sizes[0] == short.usual:
            yield replace_number(text, nodes[0], "-1")


def _iter_last_batches(program: Program, at: int) -> Iterator[LastBatch]:
    """Yield the smaller last batches during which an op ran."""
    for remainder in program.remainders:
        if remainder.began <= at < remainder.ended:
            yield remainder
