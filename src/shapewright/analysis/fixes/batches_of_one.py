"""Loaders that are asked for batches of one sample, and where that is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import Op


def iter_batch_sizes_of_one(
    program: Program,
) -> Iterator[tuple[SourceText, ast.Call, ast.expr, str]]:
    """Yield the loaders with batches of one sample, each with the 1 that says so, in
    its call or where the name in it is set, and the name.
    """
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Call) or get_called_name(node) != "DataLoader":
                continue
            sizes = [word.value for word in node.keywords if word.arg == "batch_size"]
            for size in sizes or node.args[1:2]:
                name = get_last_name(size)
                values = list(_iter_options(text, name)) or _list_values(text, name)
                values = values if name else [size]
                ones = [
                    value
                    for value in values
                    if isinstance(value, ast.Constant) and value.value == 1
                ]
                if len(ones) == 1:
                    yield text, node, ones[0], name or "batch_size"


def find_batch_size(text: SourceText, loader: ast.Call) -> ast.expr | None:
    """Return where the number of samples of a loader's batches is written: in the call,
    in the settings, or as the default of an option.
    """
    sizes = [word.value for word in loader.keywords if word.arg == "batch_size"]
    for size in (sizes or loader.args[1:2])[:1]:
        name = get_last_name(size)
        if isinstance(size, ast.Subscript) and isinstance(size.slice, ast.Constant):
            name = str(size.slice.value)
        for value in (size, *find_defining(text, name), *_iter_options(text, name)):
            if isinstance(value, ast.Constant) and type(value.value) is int:
                return value
    return None


def _list_values(text: SourceText, name: str) -> list[ast.expr]:
    """Return what a name is set to, without what loaders are given by it."""
    return [
        value
        for value in find_defining(text, name)
        if not _is_given_to_loader(text, value)
    ]


def _is_given_to_loader(text: SourceText, value: ast.expr) -> bool:
    """Return whether a value is handed to a loader by its keyword."""
    word = text.parent(value)
    call = text.parent(word) if isinstance(word, ast.keyword) else None
    return call is not None and get_called_name(call) == "DataLoader"


def _iter_options(text: SourceText, name: str) -> Iterator[ast.expr]:
    """Yield the default of an option of the command line by the name that it gets."""
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "add_argument":
            continue
        options = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
        names = {option.lstrip("-").replace("-", "_") for option in options}
        for word in node.keywords if name in names else ():
            if word.arg == "default":
                yield word.value


def describe_batch_of_one(program: Program, op: Op) -> Related | None:
    """Return where the loader of the loop around a call is asked for batches of one
    sample.
    """
    loops = set[str]()
    for frame in op.frames:
        place = program.node(frame.span)
        loop = place[0].around(place[1], ast.For) if place is not None else None
        for node in ast.walk(loop.iter) if isinstance(loop, ast.For) else ():
            if isinstance(node, ast.Name | ast.Attribute):
                loops.add(get_dotted_name(node))
    for text, loader, number, name in iter_batch_sizes_of_one(program):
        for target, value in iter_assignments(text.tree, unpacked=True):
            if value is loader and get_dotted_name(target) in loops:
                words = f"`{name}` is 1: each batch is one sample"
                return Related(text.span(number), words)
    return None
