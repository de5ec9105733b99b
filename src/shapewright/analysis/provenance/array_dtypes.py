"""Which line of the text gave an array its dtype, that the items of a data set or a
tensor have: a scaler, a table, `dtype=np.int32`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    list_arguments,
)

TENSORS = operators_with("takes_program_data") - {"asarray"}
"""Calls that make a tensor of an array's dtype."""
COPYING = operators_with("joins_tensors") | {"array", "asarray", "ascontiguousarray"}
"""Functions of NumPy that keep the dtype of what they are given."""
SCALING = frozenset({"fit_transform", "transform"})
"""Methods of scikit-learn, whose arrays are float64."""
DRAWING = operators_with("has_default_dtype") | {
    "full", "normal", "uniform", "standard_normal", "random", "exponential",
}  # fmt: skip
"""Functions of NumPy that make arrays of float64, where no dtype is written."""
TYPES = frozenset({"float32", "float16", "int64", "int32", "uint8", "int", "bool"})
KEEPING = operators_with("shows_elements") | {
    "copy", "to_numpy", "values", "to", "iloc", "loc",
}  # fmt: skip
"""Methods and attributes of arrays and tensors that keep their dtype."""
DEEPEST = 12
"""Steps from a tensor back to the line that gave its array a dtype."""


def find_array_dtype(text: SourceText, value: ast.expr, dtype: str) -> ast.expr | None:
    """Return the expression that gave an array its dtype, or None where the text does
    not show it.
    """
    return next(_iter_origins(text, value, dtype, DEEPEST), None)


def find_item_value(text: SourceText, loop: ast.For, name: str) -> ast.expr | None:
    """Return the part of an item, as a data set of the file gives it, that a loop over
    its loader has under a name.
    """
    target = loop.target
    if isinstance(target, ast.Tuple) and get_called_name(loop.iter) == "enumerate":
        target = target.elts[-1]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    at = next((n for n, p in enumerate(parts) if get_last_name(p) == name), None)
    names = [n for n in ast.walk(loop.iter) if isinstance(n, ast.Name | ast.Attribute)]
    values = [value for n in names for value in find_defining(text, get_last_name(n))]
    loaders = [
        value
        for value in [loop.iter, *values]
        if isinstance(value, ast.Call) and get_called_name(value) == "DataLoader"
    ]
    if at is None or len(loaders) != 1 or not list_arguments(loaders[0]):
        return None
    data = list_arguments(loaders[0])[0]
    if isinstance(data, ast.Name | ast.Attribute):
        known = find_defining(text, get_last_name(data))
        data = known[0] if len(known) == 1 else data
    if get_called_name(data) == "TensorDataset" and isinstance(data, ast.Call):
        return data.args[at] if at < len(data.args) else None
    own = [
        node.name
        for node in text.nodes
        if isinstance(node, ast.ClassDef) and _has_items(node)
    ]
    name = get_called_name(data)
    if name not in own and len(own) == 1 and name in ("", *SPLITS):
        name = own[0]  # the only data set of the file was split
    return _find_own_item(text, name, at, len(parts)) if name else None


SPLITS = ("Subset", "random_split")


def _has_items(owner: ast.ClassDef) -> bool:
    """Return whether a class is a data set with items by their number."""
    return any(getattr(part, "name", "") == "__getitem__" for part in owner.body)


def _find_own_item(text: SourceText, name: str, at: int, count: int) -> ast.expr | None:
    """Return the part of an item that a class of the file returns."""
    for node in text.nodes:
        if isinstance(node, ast.ClassDef) and node.name == name:
            returned = [
                part.value
                for function in node.body
                if isinstance(function, ast.FunctionDef)
                and function.name == "__getitem__"
                for part in ast.walk(function)
                if isinstance(part, ast.Return) and part.value is not None
            ]
            if len(returned) != 1:
                return None
            value = returned[0]
            if isinstance(value, ast.Tuple):
                return value.elts[at] if len(value.elts) == count else None
            return value if count == 1 else None
    return None


def _iter_origins(
    text: SourceText, value: ast.expr, dtype: str, steps: int
) -> Iterator[ast.expr]:
    """Yield what gave an expression its dtype, through names, calls and methods."""
    if steps <= 0:
        return
    if isinstance(value, ast.Call):
        yield from _iter_origins_of_call(text, value, dtype, steps)
    elif isinstance(value, ast.Attribute) and get_dotted_name(value)[:5] != "self.":
        if value.attr in KEEPING:
            yield from _iter_origins(text, value.value, dtype, steps - 1)
    elif isinstance(value, ast.Subscript):
        if _is_table(text, value) and dtype == "float64":
            yield value
        else:
            yield from _iter_origins(text, value.value, dtype, steps - 1)
    elif isinstance(value, ast.BinOp):
        for side in (value.left, value.right):
            yield from _iter_origins(text, side, dtype, steps - 1)
    elif isinstance(value, ast.Name | ast.Attribute):
        for source in _list_sources(text, value):
            yield from _iter_origins(text, source, dtype, steps - 1)


def _iter_origins_of_call(
    text: SourceText, call: ast.Call, dtype: str, steps: int
) -> Iterator[ast.expr]:
    """Yield what gave the result of a call its dtype."""
    name = get_called_name(call)
    written = [word.value for word in call.keywords if word.arg == "dtype"]
    if name == "astype":
        written = [*call.args[:1], *written]
    if written and name in TENSORS:
        return  # the record has this call
    if written:
        if get_last_name(written[0]) == dtype or _get_text(written[0]) == dtype:
            yield call
        return
    first = call.args[0] if call.args else None
    if name in SCALING and dtype == "float64" and isinstance(call.func, ast.Attribute):
        if "sklearn" in text.text:
            yield call
    elif name in TENSORS | COPYING and first is not None:
        if isinstance(first, ast.List | ast.ListComp) and name in COPYING:
            return
        yield from _iter_origins(text, first, dtype, steps - 1)
    elif name in DRAWING and dtype == "float64":
        owner = get_dotted_name(call.func).partition(".")[0]
        typed = {get_last_name(argument) for argument in call.args} & TYPES
        yield from [call] if owner in ("np", "numpy", "rng") and not typed else []
    elif name in KEEPING and isinstance(call.func, ast.Attribute):
        yield from _iter_origins(text, call.func.value, dtype, steps - 1)
    elif name == "train_test_split" and first is not None:
        yield from _iter_origins(text, first, dtype, steps - 1)
    elif name == "drop" and isinstance(call.func, ast.Attribute):
        is_frame = _is_frame(text, call.func.value)
        yield from [call] if is_frame and dtype == "float64" else []


def _get_text(node: ast.expr) -> str:
    """Return a string that is written in the text, or nothing."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text and isinstance(node, ast.Constant) else ""


def _is_table(text: SourceText, value: ast.Subscript) -> bool:
    """Return whether an expression is a column, or columns, of a table of pandas."""
    place = value.slice
    if isinstance(place, ast.List) and place.elts:
        place = place.elts[0]
    return bool(_get_text(place)) and _is_frame(text, value.value)


def _is_frame(text: SourceText, node: ast.expr) -> bool:
    """Return whether a name is a table that the file makes or reads by pandas."""
    return isinstance(node, ast.Name) and any(
        get_dotted_name(getattr(value, "func", None)).startswith(("pd.", "pandas."))
        for value in find_defining(text, node.id)
    )


def _list_sources(text: SourceText, name: ast.expr) -> list[ast.expr]:
    """Return what a name or an attribute was last set to above a place in its function,
    or at the level of the module; for a part of several, that part.
    """
    dotted, scope = get_dotted_name(name), text.around(name, *FUNCTIONS)
    owner = text.around(name, ast.ClassDef)
    last: ast.expr | None = None
    for node in text.nodes:
        if not isinstance(node, ast.Assign):
            continue
        around = text.around(node, *FUNCTIONS)
        if isinstance(name, ast.Attribute):
            if text.around(node, ast.ClassDef) is not owner:
                continue
        elif around not in (scope, None) or (
            around is scope and node.lineno >= name.lineno
        ):
            continue
        for target in node.targets:
            part = _get_part(text, target, node.value, dotted)
            if part is not None:
                last = part
    if last is not None:
        return [last]
    return [v for v in find_defining(text, get_last_name(name)) if v is not name][:1]


def _get_part(
    text: SourceText, target: ast.expr, value: ast.expr, dotted: str
) -> ast.expr | None:
    """Return what an assignment sets a name to: one of several values, a part of what a
    function of the file returns, or the array that is split.
    """
    if get_dotted_name(target) == dotted:
        return value
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    at = next((n for n, p in enumerate(parts) if get_dotted_name(p) == dotted), None)
    if at is None:
        return None
    if isinstance(value, ast.Tuple) and len(value.elts) == len(parts):
        return value.elts[at]
    if not isinstance(value, ast.Call):
        return None
    if get_called_name(value) == "train_test_split":
        return value.args[at // 2] if at // 2 < len(value.args) else None
    for _, function in text.functions(get_called_name(value)):
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                same = len(node.value.elts) == len(parts)
                return node.value.elts[at] if same else None
    return None
