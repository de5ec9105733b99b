"""Explain lists of numbers in the items of a data set, which collating transposes.

`default_collate` takes a list element by element: lists of 8 numbers in 6 items become
8 tensors of shape (6,), and stacked they are (features, batch).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.codes import COLLATED_LIST
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.record.ops import Fact, Op
from shapewright.record.report import ListField

PASSING = operators_with("is_view", "copies_if_needed", "moves_device")
FARTHEST = 6
"""Calls between the stack of a list and the call that fails."""
MISSING = re.compile(r"'list' object has no attribute '(\w+)'")


def explain_collated_list(
    program: Program, failure: Failure, finding: Finding
) -> Finding:
    """Return the finding with its cause, if an operand is a transposed list."""
    stacked = _find_stacked_list(program, failure)
    if stacked is None:
        return finding
    stack, field = stacked
    shape = format_shape(stack.outputs[0])
    message = (
        f"`{field.class_name}` returns {field.name} as a list, which `default_collate`"
        f" transposes: {field.length} tensors of {format_shape(stack.inputs[0])},"
        f" stacked to {shape}, (features, batch)"
    )
    related = [
        *_list_definitions(program, field),
        *([Related(stack.span, "they are stacked here")] if stack.span else []),
        *finding.related,
    ]
    return replace(finding, code=COLLATED_LIST, message=message, related=tuple(related))


def explain_list_attribute(program: Program, finding: Finding) -> Finding:
    """Return the finding with its cause, if a transposed list is used as a tensor."""
    missing = MISSING.search(finding.torch_message or "")
    fields = program.lists if missing is not None else ()
    for field in fields[:1]:
        message = (
            f"`{field.class_name}` returns {field.name} as a list, which"
            f" `default_collate` transposes: a list of {field.length} tensors has no"
            f" `{missing[1] if missing is not None else ''}`"
        )
        related = (*_list_definitions(program, field), *finding.related)
        return replace(finding, code=COLLATED_LIST, message=message, related=related)
    return finding


def suggest_tensors(program: Program, failure: Failure | None) -> Iterator[Fix]:
    """Suggest `torch.tensor(...)` around the list that an item holds, and a stack along
    dim 1.
    """
    stacked = _find_stacked_list(program, failure) if failure is not None else None
    fields = [stacked[1]] if stacked is not None else []
    if failure is None:
        fields = list(program.lists)
    for field in fields:
        for text, value in _iter_values(program, field):
            span = text.span(value)
            new = f"torch.tensor({text.written(value)})"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(span, new),))
    call = program.call_at(stacked[0].span) if stacked is not None else None
    if call is not None and len(call[1].args) == 1 and not call[1].keywords:
        written = call[0].written(call[1].args[0])
        new = f"{call[0].written(call[1].func)}({written}, dim=1)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(call[0].span(call[1]), new),))


def _find_stacked_list(
    program: Program, failure: Failure
) -> tuple[Op, ListField] | None:
    """Return the stack of a transposed list that an operand of a call is, or None."""
    for fact in program.trace.ops[failure.op].inputs if program.lists else ():
        stack = _find_stack(program, fact)
        for field in program.lists if stack is not None else ():
            if stack is not None and len(stack.inputs) == field.length:
                return stack, field
    return None


def _find_stack(program: Program, fact: Fact) -> Op | None:
    """Return the call that stacks the tensors of a batch, one for each feature."""
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return None
        name = maker.name.rpartition(".")[2]
        if name == "stack":
            rows = [f for f in maker.inputs
                    if f.tensor in program.batches and len(f.shape) == 1]  # fmt: skip
            first = dict(maker.arguments).get("dim", dict(maker.arguments).get("1", 0))
            return maker if len(rows) == len(maker.inputs) and first == 0 else None
        if name not in PASSING and name not in ("float", "to", "double"):
            return None
        fact = maker.inputs[0]
    return None


def _list_definitions(program: Program, field: ListField) -> list[Related]:
    """Return the place where the list is returned."""
    return [
        Related(text.span(value), "this is a list")
        for text, value in _iter_values(program, field)
    ][:1]


def _iter_values(
    program: Program, field: ListField
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the expression of a list in the items that `__getitem__` returns."""
    text = program.text(field.file)
    for _, function in text.functions("__getitem__") if text is not None else ():
        if text is None or not function.lineno <= field.line <= function.body[0].lineno:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                value = _follow_keys(node.value, field.keys)
                if value is None:
                    continue
                if isinstance(value, ast.Name):
                    value = _find_assigned(function, value) or value
                yield text, value


def _follow_keys(value: ast.expr, keys: tuple[str | int, ...]) -> ast.expr | None:
    """Return the part of a returned dict or tuple at these keys."""
    for key in keys:
        if isinstance(value, ast.Tuple | ast.List) and isinstance(key, int):
            value = value.elts[key]
        elif isinstance(value, ast.Dict):
            names = [k.value if isinstance(k, ast.Constant) else None
                     for k in value.keys]  # fmt: skip
            if key not in names:
                return None
            value = value.values[names.index(key)]
        else:
            return None
    return value


def _find_assigned(function: ast.AST, name: ast.Name) -> ast.expr | None:
    """Return the value that a name is given in a function, if there is one."""
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name.id for t in node.targets)
    ]
    return values[0] if len(values) == 1 else None
