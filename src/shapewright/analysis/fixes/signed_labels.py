"""Labels among which -1 is a class: of two signs, or of classes counted from -1 on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name, iter_own_nodes
from shapewright.record.ops import Op

OF_CLASSES = operators_with("is_loss") & operators_with("has_index_bounds")
COPIES = operators_with("takes_program_data")
SIGNS = (-1, 1)
FEWEST, FEWEST_SIGNS = 16, 8
"""Labels from which on those that are not among them are taken for absent."""


def suggest_classes_from_0(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `int(row["label"] > 0)` for labels of -1 and 1, where a loss reads the
    classes 0 and 1; `label + 1` for classes from -1 on.
    """
    kinds, maker = find_signed_labels(program, failure)
    if not kinds or maker is None:
        return
    copy = program.call_at(maker.span)
    if copy is not None and get_called_name(copy[1]) in COPIES:
        text, call = copy
        written = text.written(call)
        new = f"({written} > 0).long()" if kinds == SIGNS else f"({written} + 1)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))
        return
    for text, value in _iter_labels(program):
        new = f"{text.written(value)} + 1"
        if kinds == SIGNS:
            new = f"int({_write_number(text, value)} > 0)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))
        return


def describe_signed_labels(program: Program, failure: Failure) -> Related | None:
    """Return the note that -1 is one of the classes."""
    kinds, maker = find_signed_labels(program, failure)
    if not kinds or maker is None or maker.span is None:
        return None
    shown = ", ".join(map(str, kinds[:-1])) + f" and {kinds[-1]}"
    words = f"the labels are {shown}: -1 is one of {len(kinds)} classes here, and the"
    words += " loss counts classes from 0 on"
    for text, value in _iter_labels(program):
        if program.call_at(maker.span) is None:
            return Related(text.span(value), words)
    return Related(maker.span, words)


def find_signed_labels(
    program: Program, failure: Failure
) -> tuple[tuple[int, ...], Op | None]:
    """Return the labels of a loss that are as many as its classes, -1 among them, with
    the call that made them; nothing where -1 may mark what is left out.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    none: tuple[tuple[int, ...], Op | None] = ((), None)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or unmet.has != -1:
        return none
    if op.name.rpartition(".")[2] not in OF_CLASSES or len(op.inputs) < 2:
        return none
    kinds: set[int] = set()
    elements, first = 0, None
    for other in program.trace.ops:
        if other.span != op.span or other.name != op.name or len(other.inputs) < 2:
            continue
        for maker in iter_first_makers(program, other.inputs[1]):
            values = program.data_values.get(maker.outputs[0].tensor)
            if values is not None:
                if not values.kinds:
                    return none
                kinds |= {*values.kinds}
                elements += values.elements
                first = first or maker
                break
    classes = tuple(sorted(kinds))
    if len(classes) != unmet.needs:
        return none
    least = FEWEST_SIGNS if classes == SIGNS else FEWEST
    if elements < least and not (classes == SIGNS and _has_pair(program)):
        return none
    is_range = classes == tuple(range(-1, len(classes) - 1))
    return (classes, first) if classes == SIGNS or is_range else none


def _has_pair(program: Program) -> bool:
    """Return whether the program writes both signs side by side, as in
    `choice([-1, 1])`.
    """
    for text in program.own_texts():
        for node in text.nodes:
            parts: list[ast.expr] = []
            if isinstance(node, ast.List | ast.Tuple | ast.Set):
                parts = node.elts
            elif isinstance(node, ast.IfExp):
                parts = [node.body, node.orelse]
            elif isinstance(node, ast.Call) and get_called_name(node) == "where":
                parts = node.args[1:]
            numbers = [evaluate_whole_number(part) for part in parts]
            if len(numbers) == len(SIGNS) and {*numbers} == {*SIGNS}:
                return True
    return False


def _write_number(text: SourceText, value: ast.expr) -> str:
    """Write a label without the `int()` around it."""
    is_int = isinstance(value, ast.Call) and get_called_name(value) == "int"
    inner = value.args[0] if isinstance(value, ast.Call) and is_int else value
    written = text.written(inner)
    is_plain = isinstance(inner, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return written if is_plain else f"({written})"


def _iter_labels(program: Program) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the last parts of the items that data sets return, where they are set."""
    for text in program.own_texts():
        for _, function in text.functions("__getitem__"):
            for node in iter_own_nodes(function):
                value = node.value if isinstance(node, ast.Return) else None
                if not isinstance(value, ast.Tuple) or len(value.elts) != 2:
                    continue
                last = value.elts[-1]
                if isinstance(last, ast.Name):
                    yield from _iter_set(text, function, last)
                elif isinstance(last, ast.Call | ast.Subscript):
                    yield text, last


def _iter_set(
    text: SourceText, function: ast.AST, name: ast.Name
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield what a name is set to in a function, if that is once."""
    values = [
        node.value
        for node in iter_own_nodes(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name.id
    ]
    if len(values) == 1 and isinstance(values[0], ast.Call | ast.Subscript):
        yield text, values[0]
