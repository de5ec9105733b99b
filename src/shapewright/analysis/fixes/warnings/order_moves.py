"""Edits for what stands in the wrong order, or on the wrong side of a loop: a head in
front of the freezing, a model in the loop over epochs, ascending scores.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import cut_lines, write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.ascending_ranks import (
    suggest_descending_order,
)
from shapewright.analysis.training_mistakes.preparations import EVALUATED
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    is_optimizer,
    iter_assignments,
)

SHARED = re.compile(r"share the rows from (\d+) to (\d+)")
BACK = re.compile(r"`(\w+)` predicts targets that `([\w.]+)\.\w+` has scaled")
METRICS = (r"^(val|valid|test|dev)\w*loss", r"^(val|valid|test|dev)", r"loss")
"""Names of what a schedule may wait for, the likelier first."""


def suggest_head_behind(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model.fc = nn.Linear(...)` behind the loop that freezes the model."""
    if "is frozen with all other parameters behind it" not in finding.message:
        return
    statement = text.statement_of(node) if isinstance(node, ast.expr) else None
    for related in finding.related:
        place = program.node(related.span)
        loop = text.around(place[1], ast.For) if place is not None else None
        if loop is None or statement is None:
            continue
        line = text.written(statement)
        edits = (cut_lines(text, statement), write_after(text, loop, line))
        yield Fix("fits", f"`{line}` behind the loop", edits)


def suggest_model_before(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the statements that build a model and its optimizer in front of the loop
    over epochs.
    """
    if "what the epochs before it have trained is lost" not in finding.message:
        return
    loop = text.around(node, ast.For)
    if loop is None or not isinstance(node, ast.Assign):
        return
    moved = [
        part
        for part in loop.body
        if part is node or (isinstance(part, ast.Assign) and is_optimizer(part.value))
    ]
    edits = [write_before(text, loop, text.written(part)) for part in moved]
    edits += [cut_lines(text, part) for part in moved]
    yield Fix("fits", f"`{text.written(node)}` in front of the loop", tuple(edits))


def suggest_largest_first(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `argsort(scores, descending=True)[:10]`."""
    if "the order is ascending" not in finding.message:
        return
    if isinstance(node, ast.Subscript):
        new = suggest_descending_order(text, node)
        if new:
            yield Fix("fits", f"`{new}`", (Edit(text.span(node.value), new),))


def suggest_metric(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `scheduler.step(val_loss)` for `scheduler.step(epoch)`."""
    if "gives the number of the epoch" not in finding.message:
        return
    loop = text.around(node, ast.For)
    if loop is None or not isinstance(node, ast.Call):
        return
    names = [
        target.id
        for target, _ in iter_assignments(loop)
        if isinstance(target, ast.Name) and target.lineno < node.lineno
    ]
    for pattern in METRICS:
        for name in dict.fromkeys(names):
            if re.search(pattern, name, re.IGNORECASE):
                new = f"{text.written(node.func)}({name})"
                yield Fix("fits", f"`{new}`", (Edit(text.span(node.args[0]), name),))
                return


def suggest_rows_behind(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x[800:]` for the `x[700:]` beside `x[:800]`, and so for the labels."""
    shared = SHARED.search(finding.message)
    if shared is None or not isinstance(node, ast.Subscript):
        return
    scope = text.around(node, *FUNCTIONS) or text.tree
    edits: list[Edit] = []
    for target, value in iter_assignments(scope, unpacked=True):
        name = target.id if isinstance(target, ast.Name) else ""
        index = value.slice if isinstance(value, ast.Subscript) else None
        if isinstance(index, ast.Tuple):
            index = index.elts[0]
        lower = index.lower if isinstance(index, ast.Slice) else None
        if lower is None or not EVALUATED.search(name):
            continue
        if text.written(lower) == shared[1]:
            edits.append(Edit(text.span(lower), shared[2]))
    if edits:
        new = text.written(node).replace(f"{shared[1]}:", f"{shared[2]}:", 1)
        yield Fix("fits", f"`{new}`", tuple(edits))


def suggest_sorted_names(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `sorted(set(names))` for `list(set(names))`."""
    if "has the order of a set" in finding.message and isinstance(node, ast.Call):
        new = f"sorted{text.written(node)[len(text.written(node.func)) :]}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node.func), "sorted"),))


def suggest_scaled_back(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `scaler.inverse_transform(pred)` where targets are compared as they
    were.
    """
    words = BACK.search(finding.message)
    if words is None:
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id == words[1]:
            new = f"{words[2]}.inverse_transform({words[1]})"
            yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))
            return
