"""A number in a view that an attribute of the module holds: `self.width` for `512`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import CHANNEL_MISMATCH, INNER_DIM_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_own_attribute,
    iter_assignments,
)

VIEWS = operators_with("is_view") | {"reshape"}
NAMES = re.compile(
    r"dim|chan|width|hidden|feat|size|planes|filter|(^|_)(ch|nf|ngf|ndf)"
)
"""How attributes are called that hold a number of channels or features."""
MOST_NAMES = 3
FARTHEST = 4
"""Calls between a view and the layer that does not take its sizes."""


def suggest_named_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.view(-1, self.width, 2, 2)` where a number in a view before a layer
    is not what the layer was built for, and attributes hold such numbers.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code not in (CHANNEL_MISMATCH, INNER_DIM_MISMATCH):
        return
    fact = op.inputs[0] if op.inputs else None
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor) if fact is not None else None
        if maker is None or not maker.inputs:
            return
        place = program.call_at(maker.span)
        if place is not None and maker.name.rpartition(".")[2] in VIEWS:
            yield from _iter_names(*place, {unmet.has, unmet.needs})
            return
        fact = maker.inputs[0]


def _iter_names(text: SourceText, call: ast.Call, sizes: set[object]) -> Iterator[Fix]:
    """Yield a view with an attribute in place of a number that does not fit."""
    owner = text.around(call, ast.ClassDef)
    function = text.around(call, *FUNCTIONS)
    if owner is None or not isinstance(function, ast.FunctionDef):
        return
    names = [
        f"self.{name}"
        for target, value in iter_assignments(owner)
        if (name := get_own_attribute(target)) and NAMES.search(name)
        if isinstance(value, ast.Name | ast.Subscript | ast.BinOp)
        or (isinstance(value, ast.Constant) and value.value in sizes)
    ]
    if not function.args.args or function.args.args[0].arg != "self":
        return
    for argument in call.args:
        items = argument.elts if isinstance(argument, ast.Tuple) else [argument]
        for item in items:
            if not isinstance(item, ast.Constant) or item.value not in sizes:
                continue
            for name in list(dict.fromkeys(names))[:MOST_NAMES]:
                start = text.written(call).replace(text.written(item), name, 1)
                edit = Edit(text.span(item), name)
                yield Fix("fits", f"`{join_lines(start)}`", (edit,))
