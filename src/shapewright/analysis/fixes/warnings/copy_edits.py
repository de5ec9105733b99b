"""Edits of updates between a model and its copy, and of items that are written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.masked_items import (
    get_written_name,
    iter_taken,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import get_own_attribute


def suggest_other_way(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `copy.load_state_dict(model.state_dict())`, and the copy's parameters
    first where a loop goes over both.
    """
    if not isinstance(node, ast.Call):
        return
    owner = get_receiver(node)
    state = node.args[0] if node.args else None
    if len(node.args) == 2:
        first, second = node.args
        edits = (
            Edit(text.span(first), text.written(second)),
            Edit(text.span(second), text.written(first)),
        )
        new = f"zip({text.written(second)}, {text.written(first)})"
        yield Fix("fits", f"`{join_lines(new)}`", edits)
    elif owner is not None and isinstance(state, ast.Call):
        other = get_receiver(state)
        if other is not None:
            loaded, source = text.written(owner), text.written(other)
            edits = (Edit(text.span(owner), source), Edit(text.span(other), loaded))
            shown = f"`{source}.load_state_dict({loaded}.state_dict())`"
            yield Fix("fits", shown, edits)


UNCALLED = re.compile(r"trained: `([^`]+)`, which gets its weights")


def suggest_called_target(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the target network for the one whose values are discounted."""
    uncalled = UNCALLED.search(finding.message)
    if uncalled is not None and isinstance(node, ast.Name | ast.Attribute):
        yield Fix(
            "fits",
            f"`{uncalled[1]}` for `{text.written(node)}`",
            (Edit(text.span(node), uncalled[1]),),
        )


def suggest_written_parameter(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `p.data = decay * p` for `p = decay * p`, which names a new tensor."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        new = f"{name}.data.copy_({text.written(node.value)})"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


OPERATIONS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def _suggest_cloned_item(text: SourceText, statement: ast.stmt) -> Iterator[Fix]:
    """Suggest `x = self.data[i].clone()` where a part of `x` is written, `.copy()` of
    an array.
    """
    function = text.around(statement, ast.FunctionDef)
    name = get_written_name(statement)
    for known, taken in iter_taken(function) if function is not None else ():
        if known == name:
            makers = find_defining(text, get_own_attribute(taken.value))
            is_array = any(
                isinstance(maker, ast.Call)
                and text.written(maker.func).startswith("np.")
                for maker in makers
            )
            yield append_method(text, taken, ".copy()" if is_array else ".clone()")


def suggest_new_item(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `signal = signal + noise` for `signal += noise`, which writes the data
    that a data set stores.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.AugAssign):
        if isinstance(statement, ast.stmt):
            yield from _suggest_cloned_item(text, statement)
        return
    sign = OPERATIONS.get(type(statement.op))
    if sign is None or not isinstance(statement.target, ast.Name):
        return
    name, value = statement.target.id, text.written(statement.value)
    if sign != "+" and isinstance(statement.value, ast.BinOp):
        value = f"({value})"
    new = f"{name} = {name} {sign} {value}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(statement), new),))


def suggest_cloned_output(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `output.detach().clone()` for what a hook keeps, and `inplace=False` for
    an activation that changes a shortcut.
    """
    if "works in place" in finding.message:
        yield from _suggest_own_result(program, finding, text, node)
        return
    if isinstance(node, ast.Call) and "writes into it afterwards" in finding.message:
        yield append_method(text, node, ".clone()")


def _suggest_own_result(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `inplace=False` where an activation is called, or built."""
    op = program.op_at(finding.span, finding.module)
    layer = program.layer(op) if op is not None else None
    built = program.built.get(layer.path) if layer is not None else None
    place = program.call_at(built.span) if built is not None else None
    if layer is None and isinstance(node, ast.Call):
        place = text, node
    if place is None:
        return
    own_text, call = place
    words = [word.value for word in call.keywords if word.arg == "inplace"]
    for value in [*words, *call.args]:
        if isinstance(value, ast.Constant) and value.value is True:
            yield Fix("fits", "`inplace=False`", (Edit(own_text.span(value), "False"),))
            return
