"""Tensors that are to be made of texts, such as the names of classes in a table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name

TEXTS = re.compile(r"too many dimensions 'str'|new\(\): invalid data type 'str'")
OBJECTS = "can't convert np.ndarray of type numpy.object_"
MAKING = operators_with("takes_program_data") | {"LongTensor", "FloatTensor"}
ENDS = frozenset({"values", "to_numpy", "tolist"})
"""What makes an array or a list of a column of a table."""


def find_texts(program: Program, finding: Finding) -> Explanation | None:
    """Return that a tensor is to be made of texts, such as class names, or None."""
    is_of_objects = OBJECTS in finding.words
    if TEXTS.search(finding.words) is None and not is_of_objects:
        return None
    for text, call in program.iter_calls(finding):
        if get_called_name(call) not in MAKING or not call.args:
            continue
        data = call.args[0]
        item = data.elt if isinstance(data, ast.ListComp) else data
        message = (
            f"`{text.written(item)}` is a text, or holds texts, and a tensor is made of"
            " numbers: each class has one"
        )
        column = _find_column(text, data)
        if column is not None:
            fixes = tuple(_iter_codes(program, text, call, column))
            is_sure = any(".map(" in fix.message for fix in fixes)
            if is_of_objects and not is_sure:
                return None
            return Explanation(message, (), fixes)
        if is_of_objects:
            return None
        return Explanation(message, (), tuple(_iter_numbers(program, text, data, item)))
    return None


def _iter_numbers(
    program: Program, text: SourceText, data: ast.expr, item: ast.expr
) -> Iterator[Fix]:
    """Yield the number of a class name, of one name or of each in a list, that of a
    table first.
    """
    known = sorted(_iter_class_names(program), key=lambda entry: not entry[2])
    for name, _, is_table in known:
        number = f"{name}[{{}}]" if is_table else f"{name}.index({{}})"
        ways = [number.format(text.written(item))]
        if isinstance(data, ast.Name):
            ways.append(f"[{number.format('each')} for each in {data.id}]")
        for new in ways:
            edit = Edit(text.span(item), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _iter_class_names(program: Program) -> Iterator[tuple[str, ast.expr, bool]]:
    """Yield the names of lists of texts with their values, and of tables from texts to
    numbers, with True.
    """
    for text in program.own_texts():
        for node in text.nodes:
            value = node.value if isinstance(node, ast.Assign) else None
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Name):
                continue
            if value is not None and _is_numbering(value):
                yield target.id, value, True
                continue
            is_table = isinstance(value, ast.Dict)
            items = value.keys if isinstance(value, ast.Dict) else []
            if isinstance(value, ast.List | ast.Tuple):
                items = list(value.elts)
            texts = [
                isinstance(item, ast.Constant) and isinstance(item.value, str)
                for item in items
            ]
            if value is not None and len(texts) > 1 and all(texts):
                yield target.id, value, is_table


def _has_class_numbers(value: ast.expr) -> bool:
    """Return whether a table has the numbers of classes, from 0 on."""
    if not isinstance(value, ast.Dict):
        return True
    numbers = [getattr(item, "value", None) for item in value.values]
    return all(
        isinstance(number, int) and number in range(len(numbers)) for number in numbers
    )


def _is_numbering(value: ast.expr) -> bool:
    """Return whether a table numbers names: `{name: i for i, name in enumerate(names)}`
    or `dict(zip(names, range(n)))`.
    """
    if isinstance(value, ast.DictComp):
        listed, target = value.generators[0].iter, value.generators[0].target
        names = target.elts if isinstance(target, ast.Tuple) else []
        return (
            get_called_name(listed) == "enumerate"
            and len(names) == 2
            and isinstance(value.key, ast.Name)
            and isinstance(value.value, ast.Name)
            and [getattr(name, "id", "") for name in names]
            == [value.value.id, value.key.id]
        )
    zipped = value.args[0] if isinstance(value, ast.Call) and value.args else None
    if get_called_name(value) != "dict" or get_called_name(zipped or value) != "zip":
        return False
    assert isinstance(zipped, ast.Call)
    return len(zipped.args) == 2 and get_called_name(zipped.args[1]) == "range"


# -- columns of tables -----------------------------------------------------------------


def _find_column(text: SourceText, data: ast.expr) -> ast.expr | None:
    """Return the column, `table["name"]`, that an array or a list is made of."""
    if get_called_name(data) == "list" and isinstance(data, ast.Call) and data.args:
        data = data.args[0]
    if isinstance(data, ast.Call) and isinstance(data.func, ast.Attribute):
        data = data.func
    is_ended = isinstance(data, ast.Attribute) and data.attr in ENDS
    column = data.value if isinstance(data, ast.Attribute) and is_ended else data
    known = find_known_value(text, column)
    index = known.slice if isinstance(known, ast.Subscript) else None
    if not isinstance(index, ast.Constant) or not isinstance(index.value, str):
        return None
    return column if is_ended or "pandas" in text.text else None


def _iter_codes(
    program: Program, text: SourceText, call: ast.Call, column: ast.expr
) -> Iterator[Fix]:
    """Yield the numbers of the classes in a column: those of a table of the program, or
    else codes that are numbered anew.
    """
    written, span = text.written(column), text.span(column)
    known = list(_iter_class_names(program))
    ways = [
        f"{written}.map({name})"
        for name, value, is_table in known
        if is_table and _has_class_numbers(value)
    ]
    if not ways:
        codes = f'{written}.astype("category").cat.codes'
        if all(word.arg != "dtype" for word in call.keywords):
            codes += '.astype("int64")'
        names = [name for name, _, is_table in known if not is_table]
        ways = [*(f"{written}.map({name}.index)" for name in names), codes]
    for new in ways:
        yield Fix("fits", f"`{new}`", (Edit(span, new),))
