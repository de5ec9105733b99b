"""Edits for indices beyond the end: more rows, classes or columns, or a label that is
ignored.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.class_ranges import suggest_class_of_white
from shapewright.analysis.fixes.constructors import (
    change_layer_size,
    replace_argument,
)
from shapewright.analysis.fixes.created_tensors import MAKERS
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import cut_lines, write_after
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.refused_labels import MOST_MORE, OUT_OF_BOUNDS
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    INDEX_OUT_OF_RANGE,
    WRITTEN_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name
from shapewright.record.ops import Op

GATHERING = frozenset({"gather", "take_along_dim"})
"""Operators that take an index for each element."""


def fix_table(program: Program, failure: Failure) -> Iterator[Fix]:
    """Give a layer's table a row for every index: just enough rows, or a few more."""
    unmet = failure.unmet
    layer = program.layer(program.trace.ops[failure.op])
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or layer is None:
        return
    if type(unmet.has) is int and type(unmet.needs) is int and unmet.has >= 0:
        for more in range(1, 5):
            yield from change_layer_size(
                program, layer.path, unmet.needs, unmet.has + more, ""
            )


def suggest_later_count(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest to count a vocabulary, `n = len(words)`, behind the lines that add to it,
    where an index is beyond the rows of a table.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return
    for file in program.trace.sources:
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            if text is None or not isinstance(node, ast.Assign):
                continue
            counted = node.value
            if get_called_name(counted) != "len" or not isinstance(counted, ast.Call):
                continue
            owner = text.written(counted.args[0]) if counted.args else ""
            block = getattr(text.parent(node), "body", [])
            later = block[block.index(node) + 1 :] if node in block else []
            growing = [line for line in later if _is_growing(text, line, owner)]
            if growing:
                written = text.written(node)
                edits = cut_lines(text, node), write_after(text, growing[-1], written)
                words = f"`{join_lines(written)}` behind what adds to `{owner}`"
                yield Fix("fits", words, edits)


def _is_growing(text: SourceText, statement: ast.stmt, owner: str) -> bool:
    """Return whether a statement adds items to a list, a set or a dict."""
    for node in ast.walk(statement):
        target: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            target = node.value
        elif isinstance(node, ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = node.func.value if node.func.attr in GROWING else None
        if target is not None and text.written(target) == owner:
            return True
    return False


GROWING = frozenset({"add", "append", "extend", "insert", "setdefault", "update"})
"""Methods of lists, sets and dicts that add items."""


def suggest_expanded_index(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest an index for every feature where `gather` gets one number for each row:
    `.unsqueeze(-1).expand(-1, -1, features.size(-1))`.
    """
    op = program.trace.ops[failure.op]
    if op.name.rpartition(".")[2] not in GATHERING or len(op.inputs) < 2:
        return
    data, index = op.inputs[:2]
    rank = len(data.shape)
    added = rank - len(index.shape)
    if added < 1 or not index.shape:
        return
    if index.shape[0] != data.shape[0]:
        yield from _expand_over_first(program, op, added)
        return
    places = find_tensor_expressions(program, op)
    text_and_node = program.node(op.span)
    if places[0] is None or places[1] is None or text_and_node is None:
        return
    owner = get_dotted_name(places[0][0])
    along = _get_gathered_dim(text_and_node[1])
    if not owner or along is None:
        return
    for first in range(1, len(index.shape) + 1):  # where the new dims are put
        sizes = [*index.shape[:first], *[None] * added, *index.shape[first:]]
        along_dim = along % rank
        sides = [
            "-1" if sizes[dim] is not None else f"{owner}.size({dim})"
            for dim in range(rank)
        ]
        fits = all(
            size in (None, data.shape[dim])
            for dim, size in enumerate(sizes)
            if dim != along_dim
        )
        new = [dim for dim, size in enumerate(sizes) if size is None]
        if not fits or new == [along_dim]:
            continue
        if sizes[along_dim] is None:
            sides[along_dim] = "1"
        method = f".unsqueeze({first})" * added + f".expand({', '.join(sides)})"
        yield append_method(text_and_node[0], places[1][0], method)


def _expand_over_first(program: Program, op: Op, added: int) -> Iterator[Fix]:
    """Suggest `actions.expand(scores.shape[0], -1, -1)` where the same index is meant
    for each of several scores that were stacked in front.
    """
    data, index = op.inputs[:2]
    place = program.node(op.span)
    along = _get_gathered_dim(place[1]) if place is not None else None
    nodes = find_tensor_expressions(program, op)
    if place is None or along is None or nodes[0] is None or nodes[1] is None:
        return
    along %= len(data.shape)
    owner, behind = get_dotted_name(nodes[0][0]), data.shape[added:]
    fits = all(
        size == whole or dim + added == along
        for dim, (size, whole) in enumerate(zip(index.shape, behind, strict=True))
    )
    if owner and fits and along >= added:
        sides = [f"{owner}.shape[{dim}]" for dim in range(added)]
        sides += ["-1"] * len(index.shape)
        yield append_method(place[0], nodes[1][0], f".expand({', '.join(sides)})")


def is_narrowed(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether an index of `gather` would get a dim of size 1 where the source
    has more, of which the first alone would be read.
    """
    op = program.trace.ops[failure.op]
    place = program.node(op.span)
    if op.name.rpartition(".")[2] not in GATHERING or len(op.inputs) < 2:
        return False
    along = _get_gathered_dim(place[1]) if place is not None else None
    data = op.inputs[0].shape
    if along is None or len(data) != len(op.inputs[1].shape) + 1:
        return False
    for edit in fix.edits:
        added = NEW_DIM.search(edit.text)
        if added is None or "expand" in edit.text or "repeat" in edit.text:
            continue
        dim = int(added[1]) % len(data)
        if dim != along % len(data) and data[dim] > 1:
            return True
    return False


NEW_DIM = re.compile(r"unsqueeze\((-?\d+)\)")
RANGES = operators_with("is_range_factory")


def suggest_all_rows(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a row for each action in `scores[torch.arange(n), actions]`, where the
    tensor has as many rows as there are actions.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.node(op.span)
    if place is not None and UNLIKE in failure.torch_message:
        yield from _suggest_whole_range(*place, op)
    if unmet is None or unmet.code != BROADCAST_MISMATCH or place is None:
        return
    text, node = place
    if unmet.got is None or unmet.got.argument != "index.0" or unmet.wanted is None:
        return
    items = node.slice.elts if _is_pair(node) else []  # type: ignore[union-attr]
    at = int(unmet.wanted.argument.rpartition(".")[2])
    rows = op.inputs[failure.arguments.index("index.0")]
    maker = program.producers.get(rows.tensor)
    where = program.call_at(maker.span) if maker is not None else None
    if maker is None or where is None or at >= len(items):
        return
    is_range = maker.name.rpartition(".")[2] in RANGES
    if (
        not is_range
        or len(where[1].args) != 1
        or rows.shape[:1] != maker.outputs[0].shape
    ):
        return
    words = [f"{word.arg}={where[0].written(word.value)}" for word in where[1].keywords]
    count = f"len({text.written(items[at])})"
    function = where[0].written(where[1].func)
    new = f"{function}({', '.join([count, *words])})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(items[0]), new),))


def suggest_masked_rows(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x[mask] = y[mask]` where `y` has all rows, also those that stay."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.node(op.span)
    if unmet is None or unmet.code != WRITTEN_SHAPE or unmet.needs is not None:
        return
    statement = place[0].statement_of(place[1]) if place is not None else None
    if place is None or not isinstance(statement, ast.Assign):
        return
    target = statement.targets[0]
    if len(statement.targets) == 1 and isinstance(target, ast.Subscript):
        mask = place[0].written(target.slice)
        yield append_method(place[0], statement.value, f"[{mask}]")


UNLIKE = "indexing tensors could not be broadcast together"


def _suggest_whole_range(text: SourceText, node: ast.AST, op: Op) -> Iterator[Fix]:
    """Suggest `range(len(actions))` for a range of Python or NumPy of other length."""
    if not _is_pair(node) or len(op.inputs) != 2:
        return
    scores, chosen = op.inputs
    items = node.slice.elts  # type: ignore[attr-defined]
    rows = items[0]
    if isinstance(rows, ast.Call) and get_called_name(rows) == "list" and rows.args:
        rows = rows.args[0]
    is_range = get_called_name(rows) in ("range", "arange")
    if not is_range or len(rows.args) != 1 or len(items) != 2:
        return
    if len(chosen.shape) == 1 and chosen.shape == scores.shape[:1]:
        new = f"len({text.written(items[1])})"
        shown = f"{text.written(rows.func)}({new})"
        yield Fix(
            "fits", f"`{join_lines(shown)}`", (Edit(text.span(rows.args[0]), new),)
        )


def _is_pair(node: ast.AST) -> bool:
    """Return whether a node is an index of several items."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)


def is_crossed(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether an edit would take every column of every row, where a range of
    rows tells that one of each is meant.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.node(op.span)
    if unmet is None or unmet.code != BROADCAST_MISMATCH or place is None:
        return False
    if not _is_pair(place[1]):
        return False
    makers = [program.producers.get(fact.tensor) for fact in op.inputs[1:]]
    if not any(m is not None and m.name.rpartition(".")[2] in RANGES for m in makers):
        return False
    return any(
        edit.text.strip() == "1" or re.search(r"None|unsqueeze|view|reshape", edit.text)
        for edit in fix.edits
    )


def _get_gathered_dim(node: ast.AST) -> int | None:
    """Return the dim that a call of `gather` is given."""
    if not isinstance(node, ast.Call):
        return None
    named = [word.value for word in node.keywords if word.arg == "dim"]
    receiver = get_receiver(node)
    is_torch = isinstance(receiver, ast.Name) and receiver.id == "torch"
    arguments = [*named, *node.args[int(is_torch) :]]
    return evaluate_whole_number(arguments[0]) if arguments else None


def fix_indexed_tensor(program: Program, failure: Failure) -> Iterator[Fix]:
    """Create the tensor that an index reads with a place for each value of it."""
    unmet = failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or unmet.wanted is None:
        return
    argument, dim = unmet.wanted.argument, unmet.wanted.dim
    if argument not in failure.arguments or dim is None or type(unmet.has) is not int:
        return
    fact = program.trace.ops[failure.op].inputs[failure.arguments.index(argument)]
    maker = program.producers.get(fact.tensor)
    if maker is None or maker.name.rpartition(".")[2] not in MAKERS:
        return
    text_and_call = program.call_at(maker.span)
    if text_and_call is None:
        return
    text, call = text_and_call
    for node in call.args:
        if evaluate_whole_number(node) == fact.shape[dim]:
            fix = replace_argument(text, call, "", node, str(unmet.has + 1))
            yield from _apply_to_equal_calls(program, maker, fix)
            yield fix


def _apply_to_equal_calls(program: Program, maker: Op, fix: Fix) -> Iterator[Fix]:
    """Yield a fix that makes its edit in all equal calls of a function."""
    text_and_call = program.call_at(maker.span)
    if text_and_call is None or len(fix.edits) != 1:
        return
    text, call = text_and_call
    scope = text.around(call, ast.FunctionDef)
    written, first, edit = text.written(call), text.span(call), fix.edits[0]
    edits = []
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Call) or text.written(node) != written:
            continue
        span = text.span(node)
        if span.line != span.end_line or first.line != first.end_line:
            continue
        start = edit.span.column - first.column + span.column
        end = edit.span.end_column - first.column + span.column
        place = Span(span.file, span.line, start, span.line, end)
        edits.append(Edit(place, edit.text))
    if len(edits) > 1:
        message = f"{fix.message} and {len(edits) - 1} more"
        yield Fix("fits", message, tuple(edits))


def suggest_ignored_class(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `ignore_index=255` for a label far beyond the classes of a loss, and the
    class 1 for that of masks of two classes where nothing is called void.
    """
    op = program.trace.ops[failure.op]
    match = OUT_OF_BOUNDS.search(failure.torch_message)
    if match is None or not op.inputs or not op.inputs[0].shape:
        return
    label, shape = int(match[1]), op.inputs[0].shape
    classes = shape[1 if len(shape) > 1 else 0]
    if 0 <= label < classes + MOST_MORE:
        return
    is_void = any(VOID.search(text.text) for text in program.own_texts())
    if classes == 2 and label == WHITE and len(shape) > 2 and not is_void:
        yield from suggest_class_of_white(program, op)
        return
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    text_and_call = program.call_at(built.span if built is not None else op.span)
    if text_and_call is None:
        return
    text, call = text_and_call
    for word in call.keywords:
        if word.arg == "ignore_index":
            message = f"`ignore_index={label}`"
            yield Fix("fits", message, (Edit(text.span(word.value), str(label)),))
            return
    yield with_keyword(text, call, f"ignore_index={label}")


VOID = re.compile(r"void|ignore|border|unlabel|uncertain|don.?t.?care", re.IGNORECASE)
"""How a label is called that is no class."""
WHITE = 255


def _suggest_shorter_length(
    text: SourceText, owner: ast.ClassDef, node: ast.Subscript, arguments: list[str]
) -> Iterator[Fix]:
    """Suggest `len(self.series) - self.window` for a data set of windows that counts
    the numbers of its series: item `i` reads `self.series[i + self.window]`.
    """
    assert isinstance(node.slice, ast.BinOp)
    sides = node.slice.left, node.slice.right
    steps = [
        text.written(side)
        for side, other in zip(sides, sides[::-1], strict=True)
        if isinstance(other, ast.Name) and other.id in arguments
    ]
    for method in owner.body if steps else ():
        if not isinstance(method, ast.FunctionDef) or method.name != "__len__":
            continue
        last = method.body[-1]
        value = last.value if isinstance(last, ast.Return) else None
        whole = f"len({text.written(node.value)})"
        if value is not None and text.written(value) == whole:
            new = f"{whole} - {steps[0]}"
            edit = Edit(text.span(value), new)
            yield Fix("fits", f"`return {new}`", (edit,))


def suggest_true_length(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `return len(self.images)` for a data set whose `__len__` says another
    number of items than it has.
    """
    unmet = failure.unmet
    place = program.node(program.trace.ops[failure.op].span)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or place is None:
        return
    text, node = place
    item = text.around(node, ast.FunctionDef)
    owner = text.around(node, ast.ClassDef)
    if item is None or owner is None or item.name != "__getitem__":
        return
    if not isinstance(node, ast.Subscript):
        return
    arguments = [argument.arg for argument in item.args.args]
    if isinstance(node.slice, ast.BinOp) and isinstance(node.slice.op, ast.Add):
        yield from _suggest_shorter_length(text, owner, node, arguments[1:])
    if not isinstance(node.slice, ast.Name) or node.slice.id not in arguments[1:]:
        return
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "__len__":
            continue
        last = method.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Constant):
            new = f"len({text.written(node.value)})"
            edit = Edit(text.span(last.value), new)
            yield Fix("fits", f"`return {new}`", (edit,))
