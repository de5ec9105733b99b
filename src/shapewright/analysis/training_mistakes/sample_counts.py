"""Numbers of samples: what a program divides by for a mean over all of them."""

from __future__ import annotations

import ast

from shapewright.analysis.training_mistakes.additions import get_addition
from shapewright.analysis.training_mistakes.batch_loops import CutData, find_cut_data
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
    get_shape_owner,
    iter_assignments,
)


def is_sample_count(
    text: SourceText, value: ast.expr, at: ast.AST, grown_in: tuple[ast.For, ast.stmt]
) -> bool:
    """Return whether a number is the number of samples.

    It is `len(loader.dataset)`, or `n` that a loop counts beside the total:
    `n += len(labels)`, or the size of what the loop cuts into batches.
    """
    cut = find_cut_data(text, grown_in[0]) or CutData(frozenset(), frozenset())
    if isinstance(value, ast.Call) and get_called_name(value) in (
        "float",
        "int",
        "max",
    ):
        return any(
            is_sample_count(text, argument, at, grown_in) for argument in value.args
        )
    if isinstance(value, ast.Call) and get_called_name(value) == "len" and value.args:
        arg = value.args[0]
        if isinstance(arg, ast.Attribute) and arg.attr in ("dataset", "sampler"):
            return True
        return ast.unparse(arg) in _find_data_sets(text) | cut.data
    if isinstance(value, ast.Subscript) and _is_size_of_each_set(text, value.value):
        return True
    owner = get_shape_owner(value.value if isinstance(value, ast.Subscript) else value)
    if owner is not None and ast.unparse(owner) in cut.data:
        return is_size(value, {ast.unparse(owner)})
    if not isinstance(value, ast.Name | ast.Attribute):
        return False
    if _is_counted(text, ast.unparse(value), *grown_in):
        return True
    if ast.unparse(value) in cut.counts:
        return True
    function = text.around(at, ast.FunctionDef, ast.Module)
    for target, expression in iter_assignments(function):
        if ast.unparse(target) == ast.unparse(value):
            own = not isinstance(expression, ast.Name | ast.Attribute)
            return own and is_sample_count(text, expression, target, grown_in)
    return False


def _is_size_of_each_set(text: SourceText, sizes: ast.expr) -> bool:
    """Return whether a name stands for the sizes of several data sets, by their names:
    `{phase: len(data[phase]) for phase in data}`.
    """
    name = get_last_name(sizes)
    for definition in find_defining(text, name) if name else ():
        counts: list[ast.expr] = []
        if isinstance(definition, ast.DictComp):
            counts = [definition.value]
        elif isinstance(definition, ast.Dict):
            counts = definition.values
        if counts and all(_is_length_of_data(count) for count in counts):
            return True
    return False


def _is_length_of_data(count: ast.expr) -> bool:
    """Return whether an expression is the length of data, and of no loader."""
    if not isinstance(count, ast.Call) or get_called_name(count) != "len":
        return False
    return bool(count.args) and "load" not in ast.unparse(count.args[0]).lower()


def _is_counted(text: SourceText, name: str, loop: ast.For, beside: ast.stmt) -> bool:
    """Return whether a name counts the samples of the batches in a loop where a total
    grows.
    """
    names = collect_names(loop, ast.Store)
    for node in ast.walk(loop):
        if not isinstance(node, ast.stmt) or get_addition(node)[0] != name:
            continue
        if text.parent(node) is text.parent(beside):
            added = get_addition(node)[1]
            if isinstance(added, ast.Name):  # `n = y.numel()` above
                return is_batch_size(text, added, loop)
            return is_size(added, names)
    return False


def is_size(value: ast.expr | None, loop_names: set[str]) -> bool:
    """Return whether a node is `len(x)`, `x.size(0)`, `x.shape[0]` or `x.numel()`,
    where a loop sets `x`.
    """
    if value is None:
        return False
    if isinstance(value, ast.Call) and get_called_name(value) == "len" and value.args:
        return _is_of(value.args[0], loop_names)
    if isinstance(value, ast.Call) and get_called_name(value) in ("size", "numel"):
        first = ast.unparse(value.args[0]) if value.args else ""
        func = value.func
        return (
            (first == "0" or get_called_name(value) == "numel")
            and isinstance(func, ast.Attribute)
            and _is_of(func.value, loop_names)
        )
    if isinstance(value, ast.Subscript) and ast.unparse(value.slice) == "0":
        shape = value.value
        is_shape = isinstance(shape, ast.Attribute) and shape.attr == "shape"
        return is_shape and _is_of(shape.value, loop_names)  # type: ignore[attr-defined]
    return False


def _is_of(value: ast.expr, names: set[str]) -> bool:
    """Return whether a node is one of these names, or an item of one of them."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name) and value.id in names


def _find_data_sets(text: SourceText) -> set[str]:
    """Return the data sets that are passed to a `DataLoader`, and the tensors that a
    `TensorDataset` holds, as written in the text.
    """
    named: list[ast.expr] = []
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        if get_called_name(node) == "DataLoader":
            keywords = [word.value for word in node.keywords if word.arg == "dataset"]
            named += (node.args or keywords)[:1]
        elif get_called_name(node) == "TensorDataset":
            named += node.args
    return {
        ast.unparse(data_set)
        for data_set in named
        if isinstance(data_set, ast.Name | ast.Attribute)
    }


def is_batch_size(text: SourceText, value: ast.expr, loop: ast.For) -> bool:
    """Return whether a node is the size of a batch of a loop, or a name of it."""
    names = collect_names(loop, ast.Store)
    if isinstance(value, ast.Name):
        sizes = [
            expression
            for target, expression in iter_assignments(loop)
            if isinstance(target, ast.Name) and target.id == value.id
        ]
        return len(sizes) == 1 and is_size(sizes[0], names)
    return is_size(value, names)
