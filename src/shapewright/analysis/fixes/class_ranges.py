"""Labels beyond the classes of a loss, where the program says how they are numbered:
drawn from 1 on, or drawn of more classes than a model has outputs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shapewright.analysis.fixes.class_counts import (
    COUNTS,
    DEFAULT_LABELS,
    suggest_labels_of_config,
)
from shapewright.analysis.fixes.constructors import (
    change_layer_size,
    iter_setting_layers,
    resize_producer,
)
from shapewright.analysis.makers import is_compared, iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.analysis.refused_labels import (
    CLASS_LOSSES,
    MOST_MORE,
    find_refused_label,
    has_label_0,
)
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import (
    WHOLE,
    UnknownValue,
    evaluate_node,
    evaluate_whole_number,
)
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
    get_own_attribute,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

LABELS = re.compile(r"^y|^t$|label|target|class|digit|categor|^gt|truth|star|rating")
"""How what a loss is to predict is called."""
OUTPUTS = re.compile(r"^(n|num|number)?_?(of_)?out(put)?s?(_(dim|size|features))?$")
"""How numbers of outputs are called: `n_out`, `output_dim`."""
MOST_DRAWN = 100_000
"""Classes that labels may be drawn of."""
IDS = re.compile(r"^x$|id|token|word|input|index|indices|user|item|seq|text|data")
"""How what an embedding looks up is called."""
DRAWS = ("randint", "integers")
BUCKETS = values_of("has_limits_at")


@dataclass(frozen=True, slots=True)
class _DrawnLabels:
    """What draws labels, or takes a modulus: the first number and the first one beyond
    them, as it is written where only names of the whole file are in it.
    """

    text: SourceText
    call: ast.expr
    low: int
    high: int
    written: str = ""


def suggest_drawn_classes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `labels - 1` where labels are drawn from 1 to the number of classes, and
    as many outputs as there are classes where they are drawn of more.
    """
    refused = find_refused_label(program, failure, MOST_DRAWN)
    if refused is not None:
        op = program.trace.ops[failure.op]
        yield from _suggest_by_draw(program, op, *refused)


def suggest_drawn_rows(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest as many rows of an embedding as its ids are drawn of."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    layer = program.layer(op)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or layer is None:
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or not op.inputs:
        return
    if op.name.rpartition(".")[2] != "embedding":
        return
    for at in range(2):
        drawn = _find_drawn_labels(program, op, at, IDS)
        if drawn is not None and drawn.low == 0 and drawn.high > has >= needs:
            yield from change_layer_size(program, layer.path, needs, drawn.high, "")
            return


def suggest_rows(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a row of the table, or a class of the layer, for each index drawn, and
    `labels - 1` for labels drawn from 1 on.
    """
    numbers = DRAWN.search(finding.message)
    ops = [op for op in program.trace.ops if op.span == finding.span]
    if WHITE.search(finding.message) and ops:
        yield from suggest_class_of_white(program, ops[0])
    for op in ops if numbers is not None else ():
        assert numbers is not None
        last, size = int(numbers[1]), int(numbers[2])
        layer = program.layer(op)
        if op.name.rpartition(".")[2] in CLASS_LOSSES:
            yield from _suggest_by_draw(program, op, last, size)
        elif layer is not None:
            yield from change_layer_size(program, layer.path, size, last + 1, "")
        elif op.inputs and len(op.inputs[0].shape) > 1:
            yield from resize_producer(program, op.inputs[0], 1, last + 1)


WHITE = re.compile(r" is 0 or \d+, and .* has 2 classes")
"""What a message of `drawn-index` says of black and white masks."""
DRAWN = re.compile(r"from -?\d+ to (\d+), and .* has (\d+) (?:rows|classes|elements)")
"""The numbers in a message of `drawn-index`: the last one drawn, and how many fit."""


def suggest_class_of_white(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest `(mask > 0).long()` in the data set that gives black and white masks, and
    at the loss.
    """
    for text in program.own_texts():
        returned = [
            function.body[-1].value
            for _, function in text.functions("__getitem__")
            if isinstance(function.body[-1], ast.Return)
        ]
        for value in returned if len(returned) == 1 else ():
            mask = value.elts[-1] if isinstance(value, ast.Tuple) else None
            if isinstance(mask, ast.Name | ast.Attribute | ast.Subscript):
                new = f"({text.written(mask)} > 0).long()"
                yield Fix("fits", f"`{new}`", (Edit(text.span(mask), new),))
    place, targets = program.node(op.span), find_tensor_expressions(program, op)[1:2]
    for target in targets if place is not None else ():
        if target is not None and place is not None:
            new = f"({place[0].written(target[0])} > 0).long()"
            span = place[0].span(target[0])
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(span, new),))


def _suggest_by_draw(
    program: Program, op: Op, label: int, classes: int
) -> Iterator[Fix]:
    """Suggest what the numbers ask for that labels are drawn from, and to."""
    drawn = _find_drawn_labels(program, op)
    if drawn is not None and drawn.low > 0 and drawn.high - drawn.low <= classes:
        yield from _suggest_first_0(program, op, drawn)
    elif drawn is not None and drawn.low == 0 and drawn.high > label:
        yield from _suggest_outputs(program, op, classes, drawn.high)
    listed = drawn or _find_listed_labels(program, op)
    if listed is not None and listed.low == 0 and classes == DEFAULT_LABELS:
        for text in program.own_texts() if listed.high > label else ():
            count = listed.written or str(listed.high)
            yield from suggest_labels_of_config(text, count, 0)


def suggest_more_classes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest as many outputs as the largest label asks for that a run meets, where
    nothing says how many classes there are.
    """
    refused = find_refused_label(program, failure)
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if refused is None or (unmet is not None and unmet.lines):
        return  # they are 1 to the number of classes
    if _find_drawn_labels(program, op) is None:
        for size in range(refused[0] + 1, refused[1] + MOST_MORE):
            yield from _suggest_outputs(program, op, refused[1], size)


def suggest_class_beside_0(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a class more where the labels of a run are 0 to the number of classes:
    names were numbered from 1 on, and 0 stands for none of them.
    """
    refused = find_refused_label(program, failure)
    if refused is None or not has_label_0(program, failure):
        return
    op, classes = program.trace.ops[failure.op], refused[1]
    largest = {
        other.unmet.most
        for other in program.failures
        if other.unmet is not None and program.trace.ops[other.op].span == op.span
    }
    if largest == {classes} and _find_drawn_labels(program, op) is None:
        yield from _suggest_outputs(program, op, classes, classes + 1)


def _suggest_outputs(
    program: Program, op: Op, classes: int, size: int
) -> Iterator[Fix]:
    """Suggest another number of outputs: where the constant or the default is written
    that the layer reads, and else in the call that builds the layer.
    """
    fact = op.inputs[0]
    for module, width in iter_setting_layers(program, fact, min(1, fact.ndim - 1)):
        built = find_constructor(program, module)
        for _, node, value in iter_arguments(program, module):
            if built is None or width != classes or value not in (width, (width,)):
                continue
            name = get_own_attribute(node) or get_last_name(node)
            is_named = COUNTS.search(name.lower()) or OUTPUTS.search(name.lower())
            is_count = is_named is not None or not _is_width(program, name)
            values = find_defining(built[0], name) if is_count else []
            if _is_drawn_with(program, name):
                return  # there would be as many labels more
            if len(values) == 1 and evaluate_whole_number(values[0]) == classes:
                shown = f"`{name} = {size}`"
                yield Fix("fits", shown, (Edit(built[0].span(values[0]), f"{size}"),))
                return
    yield from resize_producer(program, fact, min(1, fact.ndim - 1), size)


def _is_width(program: Program, name: str) -> bool:
    """Return whether something is built with a name as its first size, as a layer is
    that reads what the one before it gives.
    """
    return any(
        name in collect_names(size) or name in _collect_attributes(size)
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node)[:1].isupper()
        for size in (
            *node.args[:1],
            *(w.value for w in node.keywords if INPUTS.search(w.arg or "")),
        )
    )


INPUTS = re.compile(r"^in|input|_in$|dim|width|hidden|channels|size")
"""How parameters for sizes of what a layer is given are called, or for all of them."""


def _collect_attributes(node: ast.expr) -> set[str]:
    """Return the names of attributes that an expression reads."""
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def _is_drawn_with(program: Program, name: str) -> bool:
    """Return whether a draw of whole numbers reads a constant."""
    return any(
        isinstance(part, ast.Name) and part.id == name
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in DRAWS
        for part in ast.walk(node)
    )


def _suggest_first_0(program: Program, op: Op, drawn: _DrawnLabels) -> Iterator[Fix]:
    """Suggest `labels - 1` in the call of the loss, or where they are drawn if more
    than the loss reads them.
    """
    shift = f" - {drawn.low}"
    places, where = find_tensor_expressions(program, op), program.node(op.span)
    node = places[1][0] if len(places) > 1 and places[1] is not None else None
    node = node or _find_labels_of_call(program, op)
    is_tight = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    if where is not None and is_tight and not is_compared(program, op.inputs[1]):
        assert node is not None
        shown = f"`{join_lines(where[0].written(node))}{shift}`"
        yield Fix("fits", shown, (Edit(where[0].span(node).end, shift),))
        return
    text, call = drawn.text, drawn.call
    around = text.parent(call)
    is_sum = isinstance(around, ast.BinOp) and isinstance(around.op, ast.Add)
    if isinstance(around, ast.BinOp) and is_sum and around.left is call:
        if evaluate_whole_number(around.right) == drawn.low:
            span = text.span(call).end.until(text.span(around).end)
            yield Fix("fits", f"`{text.written(call)}`", (Edit(span, ""),))
        return
    if isinstance(around, ast.Attribute | ast.BinOp):
        return  # brackets would be needed
    shown = f"`{join_lines(text.written(call))}{shift}`"
    yield Fix("fits", shown, (Edit(text.span(call).end, shift),))


def _find_labels_of_call(program: Program, op: Op) -> ast.expr | None:
    """Return the `labels` that a model of a library is given for its own loss."""
    place = program.call_at(op.span)
    words = place[1].keywords if place is not None else []
    return next((word.value for word in words if word.arg == "labels"), None)


def _find_drawn_labels(
    program: Program, op: Op, at: int = 1, names: re.Pattern[str] = LABELS
) -> _DrawnLabels | None:
    """Return the call that draws the labels of a loss, or the ids of an embedding: what
    torch made them with, or the only call of the program that draws whole numbers for a
    name of them.
    """
    for maker in (
        iter_first_makers(program, op.inputs[at]) if at < len(op.inputs) else ()
    ):
        drawn = _read_modulus(program, maker)
        if drawn is not None:
            return drawn
        place = program.call_at(maker.span)
        limits = BUCKETS.get(maker.name.rpartition(".")[2])
        if place is not None and limits is not None and limits < len(maker.inputs):
            shift = _find_shift(program, op.inputs[at], maker)
            count = maker.inputs[limits].shape[-1:]
            return _DrawnLabels(*place, shift, shift + sum(count) + 1)
        if place is not None and maker.name.rpartition(".")[2] == "randint":
            return _read_draw(*place)
    draws = [
        (text, node)
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in DRAWS
        if names.search(_get_assigned_name(text, node).lower())
    ]
    return _read_draw(*draws[0]) if len(draws) == 1 else None


def find_largest_label(program: Program, fact: Fact) -> int | None:
    """Return the largest label that a tensor of whole numbers holds: as its data say,
    or as it is drawn or compared; None if that is unknown.
    """
    for maker in (None, *iter_first_makers(program, fact)):
        facts = maker.outputs if maker is not None else (fact,)
        for output in facts:
            known = program.data_values.get(output.tensor)
            if known is not None and known.highest is not None:
                return known.highest
        if maker is None:
            continue
        place = program.call_at(maker.span)
        if place is not None and maker.name.rpartition(".")[2] == "randint":
            drawn = _read_draw(*place)
            return drawn.high - 1 if drawn is not None else None
        if any(output.dtype == "bool" for output in facts):
            return 1
    return None


def _find_shift(program: Program, fact: Fact, first: Op) -> int:
    """Return the number that is added to what a call gives on the way to a tensor."""
    shift = 0
    for maker in iter_first_makers(program, fact):
        if maker is first:
            break
        numbers = [value for _, value in maker.arguments if type(value) is int]
        name = maker.name.rpartition(".")[2]
        if name in ("+", "add") and len(numbers) == 1 and len(maker.inputs) == 1:
            shift += numbers[0]
    return shift


def _read_modulus(program: Program, maker: Op) -> _DrawnLabels | None:
    """Return the range of `torch.arange(10) % 5`."""
    place = program.node(maker.span)
    node = place[1] if place is not None else None
    if place is None or not isinstance(node, ast.BinOp):
        return None
    is_modulus = isinstance(node.op, ast.Mod)
    number = _read_number(place[0], node.right) if is_modulus else None
    if number is None or number < 1:
        return None
    return _DrawnLabels(place[0], node, 0, number)


def _find_listed_labels(program: Program, op: Op) -> _DrawnLabels | None:
    """Return the range of labels in a list, `torch.tensor([0, 4, 2])`: up to the
    largest.
    """
    for maker in iter_first_makers(program, op.inputs[1]):
        place = program.call_at(maker.span)
        if place is None or get_called_name(place[1]) not in ("tensor", "LongTensor"):
            continue
        values = place[1].args[0] if place[1].args else None
        parts = values.elts if isinstance(values, ast.List) else []
        numbers = [evaluate_whole_number(part) for part in parts]
        known = [number for number in numbers if number is not None]
        if len(known) == len(numbers) and 0 in known:
            return _DrawnLabels(*place, 0, max(known) + 1)
    return None


def _get_assigned_name(text: SourceText, node: ast.expr) -> str:
    """Return the name that a statement gives the value that a call is a part of."""
    for target, value in iter_assignments(text.statement_of(node), annotated=True):
        if value is not None and any(part is node for part in ast.walk(value)):
            return get_own_attribute(target) or get_last_name(target)
    return ""


def _read_draw(text: SourceText, call: ast.Call) -> _DrawnLabels | None:
    """Return the range of a call that draws whole numbers, as far as it is written."""
    words = {word.arg: word.value for word in call.keywords}
    if get_called_name(call) not in DRAWS or None in words or "endpoint" in words:
        return None
    first = call.args[0] if call.args else words.get("low")
    second = words.get("high", call.args[1] if len(call.args) > 1 else None)
    low = _read_number(text, first)
    high = _read_number(text, second)
    if first is None and second is not None:
        low = 0
    elif second is None or isinstance(second, ast.Tuple | ast.List):
        low, high = 0, low  # `torch.randint(10, (64,))`
    written = _write_constant(text, second)
    if second is None or isinstance(second, ast.Tuple | ast.List):
        written = _write_constant(text, first)
    elif text.written(call.func) == "random.randint" and high is not None:
        high, written = high + 1, ""  # Python draws the last one, too
    if low is None or high is None or high <= low:
        return None
    return _DrawnLabels(text, call, low, high, written)


def _write_constant(text: SourceText, node: ast.expr | None) -> str:
    """Return `len(NAMES)` as it is written, or nothing where a name in it is not one of
    the whole file.
    """
    names = collect_names(node) - {"len"} if node is not None else set()
    own = {
        name
        for statement in (text.tree.body if text.tree is not None else ())
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for name in collect_names(statement, ast.Store)
    }
    return text.written(node) if node is not None and names and names <= own else ""


def _count_items(node: ast.expr) -> int:
    """Return how many items a written list, tuple, set or dict has."""
    items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", None)
    if items is None or any(item is None for item in items):
        raise UnknownValue(type(node).__name__)
    if any(isinstance(item, ast.Starred) for item in items):
        raise UnknownValue("*")
    return len(items)


def _read_number(text: SourceText, node: ast.expr | None) -> int | None:
    """Return the number that an argument is, with the names in it that are given once:
    6 for `NUM_CLASSES + 1`.
    """

    def get_given(part: ast.expr) -> Any:
        if get_called_name(part) == "len" and isinstance(part, ast.Call):
            items = part.args[0] if part.args else part
            listed = find_defining(text, getattr(items, "id", ""))
            if len(listed) != 1:
                raise UnknownValue("len")
            return _count_items(listed[0])
        name = get_own_attribute(part) or getattr(part, "id", "")
        values = find_defining(text, name) if name else []
        if len(values) != 1 or values[0] is node:
            raise UnknownValue(name)
        return evaluate_node(values[0], operators=WHOLE, literals=(int,))

    try:
        number = evaluate_node(node, get_given, WHOLE, (int,)) if node else None
    except (UnknownValue, ZeroDivisionError):
        return None
    return number if type(number) is int else None
