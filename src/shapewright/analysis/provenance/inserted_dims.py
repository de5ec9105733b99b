"""Which expression of a data set added the dim of size 1 that its items have."""

from __future__ import annotations

import ast

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.array_dtypes import KEEPING as KEEPING_DTYPE
from shapewright.analysis.provenance.array_dtypes import TENSORS, find_item_value
from shapewright.analysis.provenance.item_values import list_last_values
from shapewright.findings.finding import Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Op

ADDING = ("expand_dims", "unsqueeze")
KEEPING = KEEPING_DTYPE | {"astype", "transpose"}
"""Methods of arrays that keep their dims, in some order."""
OF_ARRAYS = TENSORS | {"from_numpy", "transpose"}
"""Functions that keep the dims of the array that they are given."""
LIBRARIES = ("np", "numpy", "torch")
DEEPEST = 12
"""Expressions that an item is followed back through."""
LONGEST = 60
"""Characters of an expression that is quoted."""


def describe_inserted_dim(program: Program, op: Op, size: int) -> Related | None:
    """Return the one expression that adds a dim of size 1 to the items which a loop
    over a loader stacks.
    """
    place = program.node(op.span)
    if size != 1 or place is None or op.name.rpartition(".")[2] != "stack":
        return None
    if op.outputs[0].shape.count(1) > 1:
        return None  # another may be the one that is added
    text, node = place
    loop = node if isinstance(node, ast.For) else text.parent(node)
    target = loop.target if isinstance(loop, ast.For) else None
    if not isinstance(loop, ast.For) or not isinstance(target, ast.Tuple | ast.Name):
        return None
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    ops, before, behind = program.trace.ops, op.index, op.index
    while (
        before and ops[before - 1].span == op.span and ops[before - 1].name == op.name
    ):
        before -= 1
    while behind + 1 < len(ops) and ops[behind + 1].span == op.span:
        behind += 1
    name = names[op.index - before] if behind - before + 1 == len(names) else None
    if not isinstance(name, ast.Name):
        return None
    value = find_item_value(text, loop, name.id)
    adding = _find_adding(text, value, DEEPEST) if value is not None else None
    if adding is None or len(text.written(adding)) > LONGEST:
        return None
    label = f"{size} is the dim that `{text.written(adding)}` adds to the items"
    if text.around(adding, ast.If) is not None:
        label += " that lack it"
    return Related(text.span(adding), label)


def _find_adding(text: SourceText, value: ast.expr, steps: int) -> ast.expr | None:
    """Return what adds a dim to an array, followed back through names and calls that
    keep its dims; None where anything else may have made the dim.
    """
    if not steps:
        return None
    if isinstance(value, ast.Subscript):
        index = value.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        written = [text.written(part) for part in parts]
        added = [part for part in written if part == "None" or part.endswith("newaxis")]
        return value if len(added) == 1 else None
    if isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
        return _find_adding(text, value.left, steps - 1)
    if isinstance(value, ast.Name):
        function = text.around(value, *FUNCTIONS)
        if not isinstance(function, ast.FunctionDef):
            return None
        sources = list_last_values(text, function, value)
        return _find_adding(text, sources[-1], steps - 1) if sources else None
    if not isinstance(value, ast.Call):
        return None
    called = get_called_name(value)
    if called in ADDING:
        return value
    functions = text.functions(called)
    if len(functions) == 1:
        nodes = ast.walk(functions[0][1])
        returned = [n.value for n in nodes if isinstance(n, ast.Return) and n.value]
        return (
            _find_adding(text, returned[0], steps - 1) if len(returned) == 1 else None
        )
    owner = value.func.value if isinstance(value.func, ast.Attribute) else None
    is_method = owner is not None and text.written(owner) not in LIBRARIES
    if called in KEEPING and is_method and owner is not None:
        return _find_adding(text, owner, steps - 1)
    if called in OF_ARRAYS and value.args:
        return _find_adding(text, value.args[0], steps - 1)
    return None
