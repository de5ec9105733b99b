"""Layers of another number of dims: `nn.BatchNorm1d` for `nn.BatchNorm2d`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_last_name
from shapewright.record.ops import Op

DIMS = ("1d", "2d", "3d")
MOST_CALLS = 6
"""Calls of a function of the program that builds a layer, each a place to build
another."""


def suggest_layer_kinds(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest `nn.BatchNorm1d` for `nn.BatchNorm2d`, according to the input's rank."""
    layer = program.layer(op)
    constructor = find_constructor(program, layer.path) if layer is not None else None
    if constructor is None or layer is None or not op.inputs:
        return
    text, call = constructor
    name, spaces = get_last_name(call.func), max(1, len(op.inputs[0].shape) - 2)
    dims = f"{spaces}d"
    kind = layer.class_name
    if dims not in DIMS or kind[-2:] not in DIMS or kind.endswith(dims):
        return
    function = text.around(call, ast.FunctionDef)
    calls = _find_calls(text, function) if function is not None else []
    if name != kind:  # `Norm2d = nn.BatchNorm2d`
        calls = [call]
    if not calls:
        place = text.span(call.func).end
        place = replace(place, column=place.column - 2)
        message = f"`{name[:-2]}{dims}` for `{name}`"
        yield Fix("fits", message, (Edit(place, dims),))
    for own in calls[:MOST_CALLS]:
        new = f"{get_nn_name(text)}.{kind[:-2]}{dims}"
        message = f"`{new}` for `{text.written(own.func)}`"
        if len(calls) > 1:
            message += f" at line {own.lineno}"
        yield Fix("fits", message, (Edit(text.span(own.func), new),))


def _find_calls(text: SourceText, function: ast.FunctionDef) -> list[ast.Call]:
    """Return the calls of a function that returns a layer of torch."""
    ends = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    if len(ends) != 1 or not isinstance(ends[0].value, ast.Call):
        return []
    return [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == function.name
    ]


def get_nn_name(text: SourceText) -> str:
    """Return how the program names `torch.nn`."""
    for node in text.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", "") or ""
            for alias in node.names:
                if f"{module}.{alias.name}".strip(".") == "torch.nn":
                    return alias.asname or ("nn" if module else "torch.nn")
    return "torch.nn"
