"""Labels that a loss ignores, -100, where they are used as indices: of the transitions
of a CRF, of the log-probabilities that `gather` takes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import (
    SourceText,
    find_imports,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name, get_last_name
from shapewright.record.ops import Fact, ModuleCall, Op, collect_leaves

LOSSES = operators_with("is_loss")
IGNORED = -100
"""What torch's losses ignore unless they are told otherwise."""
FILLING = values_of("fill_value_at") | {"pad_sequence": 2, "pad": 3}
"""Calls that put a number in, and the place of that argument."""
WORDS = ("padding_value", "fill_value", "value")
MASK = re.compile(r"mask|valid|keep", re.IGNORECASE)


def suggest_valid_labels(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `labels.masked_fill(labels == IGNORE, 0)` where labels go into a module
    that uses them as indices, or `labels.clamp(min=0)` in the index, if a mask leaves
    these positions out behind it.
    """
    op, value = program.trace.ops[failure.op], _get_ignored(program, failure)
    if value is None:
        return
    indices = [fact for fact in op.inputs if "int" in fact.dtype]
    calls = [
        call
        for call in program.trace.calls
        if call.ops[0] <= op.index < call.ops[1] and call.span is not None
    ]
    for call in reversed(calls):
        caller = program.call_at(call.span)
        if caller is None or is_installed(caller[0].file):
            continue
        if _is_compared(program, call, value):
            break
        argument = _find_argument(program, call, caller[1], indices)
        facts = collect_leaves([*call.inputs])
        is_masked = any(fact.dtype == "bool" for fact in facts)
        if argument is not None and (is_masked or _has_mask(*caller, value)):
            yield _fill(caller[0], argument, value)
            return
    where = program.node(op.span)
    if where is None or not _has_mask(*where, value):
        return
    places = find_tensor_expressions(program, op)
    for place, fact in zip(places, op.inputs, strict=False):
        if place is None or "int" not in fact.dtype:
            continue
        node = _get_receiver(place[0])
        written = where[0].written(node)
        if isinstance(node, ast.Name | ast.Attribute):
            new = f"{written}.clamp(min=0)"
            yield Fix("fits", f"`{new}`", (Edit(where[0].span(node), new),))


def describe_ignored_labels(program: Program, failure: Failure) -> Related | None:
    """Return where the number is put in that a loss ignores."""
    value = _get_ignored(program, failure)
    for text, node in _iter_fillings(program, value) if value is not None else ():
        words = f"{value} is put in here for the positions that a loss ignores"
        return Related(text.span(node), words)
    return None


def _get_ignored(program: Program, failure: Failure) -> int | None:
    """Return the number below 0 that is used as an index, if the program puts it in, or
    tells a loss to ignore it.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return None
    if type(unmet.has) is not int or unmet.has >= 0 or program.layer(op) is not None:
        return None
    if op.name.rpartition(".")[2] in LOSSES:
        return None
    is_told = any(
        isinstance(node, ast.keyword)
        and node.arg == "ignore_index"
        and _evaluate(text, node.value) == unmet.has
        for text in program.own_texts()
        for node in text.nodes
    )
    is_known = is_told or any(True for _ in _iter_fillings(program, unmet.has))
    return unmet.has if is_known or unmet.has == IGNORED else None


def _iter_fillings(
    program: Program, value: int
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the calls and assignments that put a number into labels."""
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) in FILLING:
                at = FILLING[get_called_name(node)]
                numbers = [w.value for w in node.keywords if w.arg in WORDS]
                numbers += node.args[at : at + 1]
                if any(_evaluate(text, number) == value for number in numbers):
                    yield text, node
            elif isinstance(node, ast.Assign):
                is_item = isinstance(node.targets[0], ast.Subscript)
                if is_item and _evaluate(text, node.value) == value:
                    yield text, node.targets[0]
            elif isinstance(node, ast.List) and len(node.elts) == 1:
                product = text.parent(node)
                is_repeated = isinstance(product, ast.BinOp)
                if is_repeated and _evaluate(text, node.elts[0]) == value:
                    yield text, node


def _evaluate(text: SourceText, node: ast.expr) -> int | None:
    """Return the whole number that an expression, or a constant of the file, is."""
    number = evaluate_whole_number(node)
    if number is None and get_last_name(node):
        names = _list_constants(text)
        number = names.get(get_last_name(node))
    return number


def _list_constants(text: SourceText) -> dict[str, int]:
    """Return the whole numbers that names stand for at the top of a file."""
    constants: dict[str, int] = {}
    for statement in text.tree.body if text.tree is not None else ():
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for name, number in pairs:
            known = evaluate_whole_number(number)
            if isinstance(name, ast.Name) and known is not None:
                constants[name.id] = known
    return constants


def _find_argument(
    program: Program, call: ModuleCall, node: ast.Call, indices: list[Fact]
) -> ast.expr | None:
    """Return the argument of a call of a module that an index is a part of."""
    origins = {fact.tensor for fact in indices}
    for index in indices:
        for maker in iter_first_makers(program, index):
            origins |= {fact.tensor for fact in maker.inputs[:1]}
    for handed, argument in zip(call.inputs[0], node.args, strict=False):
        is_origin = isinstance(handed, Fact) and handed.tensor in origins
        if is_origin and not isinstance(argument, ast.Starred):
            return argument
    for word in node.keywords:
        handed = call.inputs[1].get(word.arg or "")
        if isinstance(handed, Fact) and handed.tensor in origins:
            return word.value
    return None


def _is_compared(program: Program, call: ModuleCall, value: int) -> bool:
    """Return whether a module finds the ignored positions by itself."""
    for text in program.own_texts():
        for _, definition in text.definitions(call.class_name):
            for node in ast.walk(definition):
                if isinstance(node, ast.Compare) and _is_of_value(text, node, value):
                    return True
    return False


def _is_of_value(text: SourceText, node: ast.Compare, value: int) -> bool:
    sides = [node.left, *node.comparators]
    return any(_evaluate(text, side) == value for side in sides)


def _has_mask(text: SourceText, node: ast.AST, value: int) -> bool:
    """Return whether a mask leaves positions out in the function around a node."""
    scope = text.around(node, *FUNCTIONS) or text.tree
    for part in ast.walk(scope) if scope is not None else ():
        if isinstance(part, ast.Compare) and _is_of_value(text, part, value):
            return True
        if isinstance(part, ast.Name | ast.Attribute | ast.arg):
            name = part.arg if isinstance(part, ast.arg) else get_last_name(part)
            if MASK.search(name):
                return True
    return False


def _fill(text: SourceText, argument: ast.expr, value: int) -> Fix:
    """Return the edit that puts the first class in the place of a number below 0."""
    written = text.written(argument)
    names = [name for name, known in _list_constants(text).items() if known == value]
    new = f"{written}.masked_fill({written} == {names[0] if names else value}, 0)"
    if not isinstance(argument, ast.Name | ast.Attribute):
        is_tight = isinstance(argument, ast.Call | ast.Subscript)
        new = f"{written}.clamp(min=0)" if is_tight else f"({written}).clamp(min=0)"
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(argument), new),))


def _get_receiver(node: ast.expr) -> ast.expr:
    """Return what the methods and indices of an expression are applied to."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return node


def suggest_lower_labels(text: SourceText, labels: ast.expr, op: Op) -> Iterator[Fix]:
    """Suggest labels from 1 on one lower, but not the one that a loss was told to
    ignore: `torch.where(labels == 255, labels, labels - 1)`.
    """
    ignored = dict(op.arguments).get("ignore_index")
    if type(ignored) is not int or ignored < 0:
        return
    owner = get_receiver(labels) if isinstance(labels, ast.Call) else None
    is_moved = isinstance(labels, ast.Call) and get_called_name(labels) in FLATTENING
    node = owner if is_moved and owner is not None else labels
    is_tight = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    if is_tight and "torch" in find_imports(text):
        name = join_lines(text.written(node))
        new = f"torch.where({name} == {ignored}, {name}, {name} - 1)"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


FLATTENING = operators_with("regroups_dims") | {"long", "squeeze"}
"""Methods that leave the numbers of labels as they are."""
