"""Fixes that replace a number or a name, or change an order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise, permutations
from math import prod

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.constructors import find_size_pairs, write_changed_size
from shapewright.analysis.fixes.suspect_lines import (
    Line,
    iter_definitions,
    iter_nodes_on,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ELEMENT_COUNT_MISMATCH, INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    list_arguments,
)
from shapewright.record.ops import Op

REDUCING = operators_with("reduces_dims", "returns_indices")


def fix_numbers(program: Program, failure: Failure, lines: list[Line]) -> Iterator[Fix]:
    """Change numbers near the failure so that the two sizes may agree."""
    pairs = find_size_pairs(program, failure)
    yield from _fix_names(program, failure, pairs[:1])
    yield from change_numbers(program, lines, pairs)


def _fix_names(
    program: Program, failure: Failure, pairs: list[tuple[int, int]]
) -> Iterator[Fix]:
    """Suggest `n_classes + 1` for a name in the failing call that is off by 1."""
    text_and_call = program.call_at(program.trace.ops[failure.op].span)
    if text_and_call is None:
        return
    text, call = text_and_call
    rows = [(text, argument) for argument in list_arguments(call)]
    for place, node in iter_definitions(program, [(text.file, call.lineno)]):
        if isinstance(node, ast.List | ast.Tuple):
            rows += [(place, item) for item in reversed(node.elts)]
    for has, needs in pairs:
        for place, node in rows if abs(has - needs) <= 1 else ():
            if isinstance(node, ast.Name | ast.Attribute):
                for sign in "+-" if needs > has else "-+":
                    yield replace_number(place, node, f"{place.written(node)} {sign} 1")


def fix_view_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Change one size of a `view` so that it has all elements: `channels * 4`."""
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    unmet = failure.unmet
    if unmet is None or unmet.code != ELEMENT_COUNT_MISMATCH or text_and_call is None:
        return
    text, call = text_and_call
    rows = [(text, argument) for argument in call.args]
    if len(rows) == 1:
        definitions = [(text, call.args[0])]
        definitions += iter_definitions(program, [(text.file, call.lineno)])
        rows = next(
            (
                [(place, item) for item in node.elts]
                for place, node in definitions
                if isinstance(node, ast.List | ast.Tuple)
            ),
            [],
        )
    sizes = _read_sizes(op)
    total, product = op.inputs[0].numel, prod(sizes)
    if len(sizes) != len(rows) or -1 in sizes or not product:
        return
    for (place, node), size in list(zip(rows, sizes, strict=True))[1:]:
        if isinstance(node, ast.Constant) or total % (product // size):
            continue
        new = total // (product // size)
        if new > 1:
            shown = write_changed_size(place, node, size, new)
            message = f"`{shown}` for `{place.written(node)}`"
            yield Fix("fits", message, (Edit(place.span(node), shown),))


def _read_sizes(op: Op) -> list[int]:
    """Return the sizes that a view was called with."""
    sizes: list[int] = []
    for _, value in op.arguments:
        sizes += value if isinstance(value, list | tuple) else [value]
    return [size for size in sizes if type(size) is int]


def fix_dims(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest another dim for a call that names a dim which does not exist."""
    if failure.error != "IndexError":
        return
    op = program.trace.ops[failure.op]
    rank = max((len(fact.shape) for fact in op.inputs), default=0)
    text_and_call = program.call_at(op.span)
    if text_and_call is None:
        return
    text, call = text_and_call
    for node in list_arguments(call):
        if isinstance(node, ast.Tuple | ast.List):
            values = [evaluate_whole_number(item, SIGNED) for item in node.elts]
            left = [v for v in values if v is not None and -rank <= v < rank]
            if left and len(left) < len(values) and None not in values:
                new = str(left[0]) if len(left) == 1 else str(tuple(left))
                yield replace_number(text, node, new)
        value = evaluate_whole_number(node, SIGNED)
        if value is None:
            yield from _fix_constant_dim(program, op, text, node, rank)
        if value is None or -rank <= value < rank:
            continue
        moved = _find_moved_dim(program, op, value)
        if moved is not None:
            yield replace_number(text, node, str(moved))
            continue
        for dim in _list_dims(rank):
            yield replace_number(text, node, str(dim))


def _list_dims(rank: int) -> list[int]:
    """Return the dims of a tensor, the last one first, and -1 behind them."""
    return [*reversed(range(rank)), -1]


def _fix_constant_dim(
    program: Program, op: Op, text: SourceText, node: ast.expr, rank: int
) -> Iterator[Fix]:
    """Suggest another number for the setting, the constant or the default that a dim is
    read from, where it is written.
    """
    name = get_last_name(node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = str(node.slice.value)
    dims = {value for _, value in op.arguments if type(value) is int}
    beyond = {dim for dim in dims if not -rank <= dim < rank}
    places = [
        (own, value)
        for own in program.own_texts()
        for value in (find_defining(own, name) if name else ())
        if evaluate_whole_number(value, SIGNED) in beyond
    ]
    if len(places) == 1:
        for dim in _list_dims(rank):
            yield replace_number(*places[0], str(dim))


def _find_moved_dim(program: Program, op: Op, dim: int) -> int | None:
    """Return where a dim went that a reduction before moved to the front: dim 2 of
    `x.mean(1).mean(2)` is dim 1 of `x.mean(1)`.
    """
    maker = program.producers.get(op.inputs[0].tensor) if op.inputs else None
    where = program.call_at(maker.span) if maker is not None else None
    if maker is None or where is None or len(maker.inputs) != 1:
        return None
    before, after = maker.inputs[0].shape, op.inputs[0].shape
    if maker.name.rpartition(".")[2] not in REDUCING or dim != len(after):
        return None
    values = [evaluate_whole_number(node, SIGNED) for node in list_arguments(where[1])]
    numbers = [value for value in values if value is not None]
    if len(before) != len(after) + 1 or len(numbers) != 1:
        return None
    removed = numbers[0] % len(before)
    return dim - 1 if removed < dim else None


def change_numbers(
    program: Program, lines: list[Line], pairs: list[tuple[int, int]]
) -> Iterator[Fix]:
    """Change every number on these lines, then every number that these lines depend
    on.
    """
    constants = [
        *iter_nodes_on(program, lines, ast.Constant),
        *(
            (text, inner)
            for text, node in iter_definitions(program, lines)
            if isinstance(node, ast.Constant | ast.BinOp | ast.Tuple | ast.List)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Constant)
        ),
    ]
    likely: list[tuple[int, Fix]] = []
    for place, (text, node) in enumerate(iter_definitions(program, lines)):
        if (
            isinstance(node, ast.Name | ast.Attribute)
            and _is_given(text, node)
            and not _is_result(text, node)
        ):
            for has, needs in pairs[:1]:
                for new in (needs, has):
                    likely.append((50 + place, replace_number(text, node, str(new))))
    for place, (text, node) in enumerate(constants):
        value = evaluate_whole_number(node)
        if value is None:
            continue
        for closeness, new in _iter_other_numbers(value, pairs, text, node):
            negated = isinstance(text.parent(node), ast.UnaryOp)
            if new == 0 and (negated or not pairs or _is_size_of_layer(text, node)):
                continue  # nothing would be left
            likely.append(
                (closeness * 100 + place, replace_number(text, node, str(new)))
            )
    likely.sort(key=lambda pair: pair[0])
    for _, fix in likely:
        yield fix


SIZES_OF_LAYERS = {
    r"(Lazy)?Conv(Transpose)?\dd": 4, r"(Max|Avg|LP)Pool\dd": 2, "Linear|Embedding": 2,
}  # fmt: skip
"""Layers, and how many first arguments of them are no 0."""


def _is_size_of_layer(text: SourceText, node: ast.expr) -> bool:
    """Return whether a number is a count of channels or features, or a kernel."""
    call = text.around(node, ast.Call)
    if not isinstance(call, ast.Call):
        return False
    name = get_called_name(call)
    counts = [n for kind, n in SIZES_OF_LAYERS.items() if re.fullmatch(kind, name)]
    if not counts:
        return False
    words = [word.arg for word in call.keywords if node in ast.walk(word.value)]
    sizes = call.args[: counts[0]]
    is_first = any(node in ast.walk(argument) for argument in sizes)
    return is_first or any(word is not None and "padding" not in word for word in words)


def _is_given(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is an argument of a call."""
    around = text.parent(node)
    return isinstance(around, ast.Call | ast.keyword)


def _is_result(text: SourceText, node: ast.expr) -> bool:
    """Return whether a name is one of several results of a call: no number stands for
    it, but for a size.
    """
    return isinstance(node, ast.Name) and any(
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and get_called_name(statement.value) not in ("size", "divmod")
        and any(
            isinstance(part, ast.Name) and part.id == node.id
            for target in statement.targets
            if isinstance(target, ast.Tuple)
            for part in target.elts
        )
        for statement in text.nodes
    )


def _iter_other_numbers(
    value: int, pairs: list[tuple[int, int]], text: SourceText, node: ast.expr
) -> Iterator[tuple[int, int]]:
    """Yield other numbers that may be meant, each after a rank that is lower if it is
    likelier.
    """
    for has, needs in pairs:
        if value == has:
            yield 0, needs
        if value == needs:
            yield 0, has
    for has, needs in pairs:
        for old_size, new_size in ((has, needs), (needs, has)):
            if (
                old_size
                and value > 1
                and value * new_size % old_size == 0
                and new_size != old_size
            ):
                yield 1, value * new_size // old_size
            if value > 2 and value + new_size - old_size > 0 and new_size != old_size:
                yield 2, value + new_size - old_size
    word = text.parent(node)
    dim = isinstance(word, ast.keyword) and word.arg in ("dim", "axis", "start_dim")
    if value in (-2, -1, 0, 1, 2, 3) or dim:
        for new in (0, 1, 2, 3):
            if new != value:
                yield 1 if dim else 3, new
    yield 3, value + 1
    if value > 1:
        yield 3, value - 1
    if not pairs and value > 2:
        for step, new in enumerate((value * 2, value // 2, value + 2, value - 2)):
            yield 4 + step, new
        for step in (3, 4):
            yield 8, value + step
            yield 8, max(1, value - step)


def replace_number(text: SourceText, node: ast.expr, new: str) -> Fix:
    """Replace a number; the message of the fix shows the smallest call around the
    number, or of a long one the number with its name.
    """
    kinds = ast.Call, ast.stmt
    around = node if isinstance(node, kinds) else text.around(node, *kinds)
    shown = _write_inside(text, around, node, new)
    if shown == new or len(shown) > LONGEST:
        shown = name_value(text, node, new)
    if shown == new:
        inner = text.around(node, ast.Subscript, ast.BinOp)
        if isinstance(inner, ast.Subscript | ast.BinOp):
            shown = _write_inside(text, inner, node, new)
    if len(shown) > LONGEST:
        shown = new
    return Fix("fits", f"`{shown.strip()}`", (Edit(text.span(node), new),))


LONGEST = 72
"""Characters of an expression that a fix shows."""


def _write_inside(
    text: SourceText, around: ast.AST | None, node: ast.expr, new: str
) -> str:
    """Return an expression or statement on one line with a new text for a part of it;
    the new text alone if it goes over several lines.
    """
    span = text.span(node)
    outer = text.span(around) if isinstance(around, ast.expr | ast.stmt) else span
    if not outer.line == outer.end_line == span.line:
        return new
    line = text.lines[span.line - 1]
    before = line[outer.column - 1 : span.column - 1]
    return before + new + line[span.end_column - 1 : outer.end_column - 1]


def name_value(text: SourceText, node: ast.expr, new: str) -> str:
    """Return the new text of an expression with the name of what it is the value of.

    Examples: ``heads=2`` of an argument or a default, ``"heads": 2`` of a dict,
    ``heads = 2`` of an assignment, ``Block(..., 2)`` of an argument without a name; the
    text alone if it is a part of a larger expression.
    """
    holder = next(iter(text.outwards(node)), None)
    if isinstance(holder, ast.keyword) and holder.arg:
        return f"{holder.arg}={new}"
    if isinstance(holder, ast.arguments):
        parameters = [*holder.posonlyargs, *holder.args]
        defaults = [None] * (len(parameters) - len(holder.defaults)) + holder.defaults
        pairs = [
            *zip(parameters, defaults, strict=True),
            *zip(holder.kwonlyargs, holder.kw_defaults, strict=True),
        ]
        names = [parameter.arg for parameter, value in pairs if value is node]
        return f"{names[0]}={new}" if names else new
    if isinstance(holder, ast.Dict):
        keys = [
            key for key, value in zip(holder.keys, holder.values, strict=True)
            if value is node and key is not None
        ]  # fmt: skip
        return f"{text.written(keys[0])}: {new}" if keys else new
    if isinstance(holder, ast.Assign) and len(holder.targets) == 1:
        return f"{text.written(holder.targets[0])} = {new}"
    if isinstance(holder, ast.AnnAssign):
        return f"{text.written(holder.target)} = {new}"
    if isinstance(holder, ast.Call) and node in holder.args:
        at = holder.args.index(node)
        is_last = at + 1 == len(holder.args) and not holder.keywords
        before, after = ["..."] if at else [], [] if is_last else ["..."]
        return f"{text.written(holder.func)}({', '.join([*before, new, *after])})"
    return new


MOST = 6
"""Other names that are tried in one place."""


def swap_operands(program: Program, failure: Failure) -> Iterator[Fix]:
    """Swap the first two operands of the failing call."""
    text_and_node = program.node(program.trace.ops[failure.op].span)
    if text_and_node is None:
        return
    text, node = text_and_node
    if isinstance(node, ast.BinOp):
        yield from _swap_nodes(text, node, node.left, node.right)
    elif isinstance(node, ast.Call):
        yield from _swap_call_arguments(text, node)


def swap_arguments(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Swap two neighbouring arguments of a call."""
    for text, node in iter_nodes_on(program, lines, ast.Call):
        yield from _swap_call_arguments(text, node)


def _swap_call_arguments(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Swap neighbouring arguments of a call, and neighbouring items of tuples among
    them.
    """
    rows: list[list[ast.expr]] = [list(call.args)]
    rows += [list(e.elts) for e in call.args if isinstance(e, ast.Tuple | ast.List)]
    for row in rows:
        pairs = list(pairwise(row))
        if row is rows[0] and get_called_name(call).startswith("Conv"):
            pairs = pairs[:1]  # a kernel is no number of channels
        for left, right in pairs:
            if not isinstance(left, ast.Starred) and not isinstance(right, ast.Starred):
                yield from _swap_nodes(text, call, left, right)


def _swap_nodes(
    text: SourceText, whole: ast.expr, left: ast.expr, right: ast.expr
) -> Iterator[Fix]:
    """Swap two expressions."""
    first, second = text.written(left), text.written(right)
    if first == second or "\n" in first + second:
        return
    edits = (Edit(text.span(left), second), Edit(text.span(right), first))
    span = text.span(whole)
    message = f"`{second}` and `{first}` swapped"
    if span.line == span.end_line and len(text.written(whole)) <= LONGEST:
        line, shift = text.written(whole), span.column
        for edit in reversed(edits):
            start, end = edit.span.column - shift, edit.span.end_column - shift
            line = line[:start] + edit.text + line[end:]
        message = f"`{line}`"
    yield Fix("fits", message, edits)


def suggest_orders(program: Program, failure: Failure, keeping: bool) -> Iterator[Fix]:
    """Suggest another order for the `permute` that made an operand.

    `keeping`: those that leave the batch in front where the program moves it; else
    the others.
    """
    _, got = find_sides(failure)
    op = program.trace.ops[failure.op]
    if got is None or failure.unmet is None:
        return
    fact, needs = op.inputs[got[0]], failure.unmet.needs
    for _ in range(6):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs or maker.inputs[0].shape != fact.shape:
            break
        fact = maker.inputs[0]
    text_and_node = (
        program.node(maker.span) if maker is not None and maker.inputs else None
    )
    if text_and_node is None or maker is None or not maker.name.endswith(".permute"):
        return
    text, call = text_and_node
    arguments = list(call.args) if isinstance(call, ast.Call) else []
    before = [evaluate_whole_number(node, SIGNED) for node in arguments]
    shape = maker.inputs[0].shape
    for order in permutations(range(len(shape))) if len(shape) < 5 else ():
        fits = shape[order[got[1]]] == needs and len(arguments) == len(shape)
        if fits and (before[0] != 0 and order[0] == 0) == keeping:
            new = ", ".join(map(str, order))
            span = text.span(arguments[0]).until(text.span(arguments[-1]))
            yield Fix("fits", f"`permute({new})`", (Edit(span, new),))


def suggest_swapped_factors(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x * width, y * height` for `x * height, y * width` in the function of an
    index beyond the end.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or text_and_node is None:
        return
    text, node = text_and_node
    scope = text.around(node, ast.FunctionDef)
    for statement in ast.walk(scope) if scope is not None else ():
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(value, ast.Tuple) or len(value.elts) != 2:
            continue
        first, second = value.elts
        if not isinstance(first, ast.BinOp) or not isinstance(second, ast.BinOp):
            continue
        names = [text.written(part.right) for part in (first, second)]
        if names[0] == names[1] or type(first.op) is not type(second.op):
            continue
        edits = (
            Edit(text.span(first.right), names[1]),
            Edit(text.span(second.right), names[0]),
        )
        yield Fix("fits", f"`{names[0]}` and `{names[1]}` swapped", edits)
