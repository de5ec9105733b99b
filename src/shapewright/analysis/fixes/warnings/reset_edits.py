"""Edits that set a state again: counts, the mode of dropout, loaded weights."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import (
    cut_lines,
    find_block,
    write_after,
    write_before,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import collect_names, get_called_name


def suggest_reset(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to set counts to zero first in the loop over epochs."""
    start, epochs = _find_statements(program, finding, text)[:2] or (None, None)
    loop = text.around(epochs, ast.For) if not isinstance(epochs, ast.For) else epochs
    if start is None or not isinstance(loop, ast.For):
        return
    new = text.written(start)
    edits = cut_lines(text, start), write_before(text, loop.body[0], new)
    yield Fix("fits", f"`{join_lines(new)}` first in the loop over epochs", edits)


def suggest_count_from_zero(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to set a count of bad epochs to zero where the best result is kept."""
    counted = [node.target] if isinstance(node, ast.AugAssign) else []
    targets = node.targets if isinstance(node, ast.Assign) else counted
    updates = _find_statements(program, finding, text)
    outer = text.parent(updates[0]) if updates else None
    if not targets or not isinstance(outer, ast.If):
        return
    name = text.written(targets[0])
    if updates[0].lineno != outer.lineno:
        new = f"{name} = 0"
        edit = write_after(text, updates[0], new)
        yield Fix("fits", f"`{new}` where the best is kept", (edit,))


def suggest_later_load(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to load weights behind the statement that draws them."""
    loads = _find_statements(program, finding, text)
    if not loads or not isinstance(node, ast.expr | ast.stmt):
        return
    draw = text.statement_of(node)
    if text.parent(draw) is text.parent(loads[0]):
        new = text.written(loads[0])
        edits = cut_lines(text, loads[0]), write_after(text, draw, new)
        yield Fix("fits", f"`{join_lines(new)}` after line {draw.lineno}", edits)


def suggest_trained_only(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to draw no weight that needs no gradient."""
    weight = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(node, ast.Call) and isinstance(weight, ast.Constant | None):
        weight = get_receiver(node)
    while isinstance(weight, ast.Attribute) and weight.attr == "data":
        weight = weight.value
    branch = text.around(node, ast.If)
    if "needs no gradient" not in finding.message or branch is None:
        return
    if not isinstance(weight, ast.Attribute) or branch.lineno > node.lineno:  # type: ignore[attr-defined]
        return
    owner = text.written(weight.value)
    is_branch = any(node in ast.walk(part) for part in branch.body)
    chooses = isinstance(branch.test, ast.Call | ast.Compare) and is_branch
    if not chooses or not isinstance(weight.value, ast.Name):
        return
    names = collect_names(branch.test)
    for name in (n for n in ast.walk(branch.test) if isinstance(n, ast.Name)):
        value = find_last_value(text, name, branch.lineno)
        names |= collect_names(value) if value is not None else set()
    if owner not in names:
        return
    flag = f"{text.written(weight)}.requires_grad"
    new = f"{text.written(branch.test)} and {flag}"
    yield Fix("fits", f"`if {new}:`", (Edit(text.span(branch.test), new),))


def suggest_active_dropout(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to put the dropout layers into training behind `eval()`."""
    function = text.around(node, ast.FunctionDef, ast.Module)
    space = "nn" if re.search(r"\bnn\.", text.text) else "torch.nn"
    for call in ast.walk(function) if function is not None else ():
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if get_called_name(call) != "eval" or owner is None:
            continue
        assert isinstance(call, ast.Call)
        statement = text.statement_of(call)
        indent = text.lines[statement.lineno - 1][: statement.col_offset]
        taken = collect_names(function) if function is not None else set()
        name = next(n for n in ("m", "layer", "submodule") if n not in taken)
        rows = [
            f"for {name} in {text.written(owner)}.modules():",
            f"{indent}    if isinstance({name}, {space}.Dropout):",
            f"{indent}        {name}.train()",
        ]
        edit = write_after(text, statement, "\n".join(rows))
        yield Fix("fits", "the dropout layers in training, behind `eval()`", (edit,))


def _find_statements(
    program: Program, finding: Finding, text: SourceText
) -> list[ast.stmt]:
    """Return the statements at the places that explain a finding."""
    places = [program.node(related.span) for related in finding.related]
    return [
        place[0].statement_of(place[1])
        for place in places
        if place is not None and place[0] is text
    ]


def suggest_model_of_fold(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to build the model anew as the first statement of a loop over folds."""
    span = finding.related[0].span if finding.related else None
    loops = [part for part in text.nodes if isinstance(part, ast.For)]
    loop = next((part for part in loops if text.span(part.iter) == span), None)
    built = text.statement_of(node) if isinstance(node, ast.expr | ast.stmt) else None
    if isinstance(built, ast.Assign) and loop is not None:
        new = text.written(built)
        edits = [write_before(text, loop.body[0], new)]
        for place in finding.related[1:]:
            also = text.node(place.span) if "its optimizer" in place.message else None
            if isinstance(also, ast.stmt):
                indent = text.lines[loop.body[0].lineno - 1][: loop.body[0].col_offset]
                new = f"{new}\n{indent}{text.written(also)}"
                edits = [write_before(text, loop.body[0], new)]
        yield Fix("fits", f"`{join_lines(text.written(built))}` in the loop", (*edits,))


def suggest_kept_gradient(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x.retain_grad()` behind the statement that computes a result."""
    place = program.node(finding.related[0].span) if finding.related else None
    if place is None or not isinstance(place[1], ast.Assign):
        return
    name = finding.message.partition("`")[2].partition(".")[0]
    new = f"{name}.retain_grad()"
    yield Fix("fits", f"`{new}`", (write_after(place[0], place[1], new),))


ANOTHER_LOSS = "steps with the gradients of another loss, too"


def suggest_own_clearing(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `opt_g.zero_grad()` before the backward pass of the generator's loss."""
    if ANOTHER_LOSS not in finding.message or not isinstance(node, ast.expr):
        return
    owner = get_receiver(node) if isinstance(node, ast.Call) else None
    step = text.statement_of(node)
    passes = [
        part
        for part in find_block(text, step)
        if part.lineno < step.lineno
        and isinstance(part, ast.Expr)
        and get_called_name(part.value) == "backward"
    ]
    if owner is not None and passes:
        new = f"{text.written(owner)}.zero_grad()"
        edit = write_before(text, passes[-1], new)
        yield Fix("fits", f"`{new}` before `{text.line_of(passes[-1])}`", (edit,))
