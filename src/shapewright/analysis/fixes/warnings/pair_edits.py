"""Edits for losses of pairs that teach the other order, for products with a diagonal,
and for an overlap that lacks its factor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import collect_names


def suggest_other_order(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `pos - neg` for `neg - pos`, and `-logsigmoid(pos - neg)`."""
    is_of_distances = "the negative is to be the farther one" in finding.message
    if is_of_distances and isinstance(node, ast.BinOp):
        left, right = text.written(node.left), text.written(node.right)
        edits = (Edit(text.span(node.left), right), Edit(text.span(node.right), left))
        yield Fix("fits", f"`{right} - {left}`", edits)
    if "an anchor, a positive, a negative" in finding.message:
        arguments = node.args[1:3] if isinstance(node, ast.Call) else []
        if isinstance(node, ast.Call) and len(arguments) == 2:
            first, second = map(text.written, arguments)
            edits = (
                Edit(text.span(arguments[0]), second),
                Edit(text.span(arguments[1]), first),
            )
            yield Fix("fits", f"`{second}, {first}`", edits)
        return
    if "is the lower score" not in finding.message or not isinstance(node, ast.Call):
        return
    around = text.parent(node)
    if isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.USub):
        new = text.written(node)
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(around), new),))
        return
    new = f"-{text.written(node)}"
    if isinstance(around, ast.Attribute):
        new = f"({new})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_negated_similarity(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `-F.cosine_similarity(p, z).mean()`."""
    if "`-similarity` is meant" not in finding.message or not isinstance(
        node, ast.expr
    ):
        return
    whole: ast.expr = node
    while isinstance(method := text.parent(whole), ast.Attribute):
        called = text.parent(method)
        if not isinstance(called, ast.Call) or called.func is not method:
            break
        whole = called
    new = f"-{text.written(whole)}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(whole), new),))


def suggest_opposite_score(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `-critic(fake).mean()` for `critic(fake).mean()`, and the reverse."""
    if "are to pull apart" not in finding.message or not isinstance(node, ast.expr):
        return
    whole: ast.expr = node
    while True:
        around = text.parent(whole)
        if isinstance(around, ast.Attribute):
            around = text.parent(around)
        elif isinstance(around, ast.Call) and whole not in around.args:
            return
        if not isinstance(around, ast.Call):
            break
        whole = around
    negated = text.parent(whole)
    if isinstance(negated, ast.UnaryOp) and isinstance(negated.op, ast.USub):
        new = text.written(whole)
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(negated), new),))
    elif isinstance(negated, ast.Assign | ast.Return):
        new = f"-{text.written(whole)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(whole), new),))


def suggest_matrix_product(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `d @ a @ d` for `d * a * d`."""
    if "all of" not in finding.message or "but its diagonal" not in finding.message:
        return
    whole = node
    while isinstance(parent := text.parent(whole), ast.BinOp):
        whole = parent
    factors: list[ast.expr] = []
    waiting: list[ast.AST] = [whole]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.expr):
            factors.append(part)
    if len(factors) > 1 and isinstance(whole, ast.expr):
        new = " @ ".join(map(text.written, factors))
        yield Fix("fits", f"`{new}`", (Edit(text.span(whole), new),))


def suggest_factor_of_two(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `2 * inter` in the dividend of dice."""
    if "dice is twice the product" not in finding.message:
        return
    top = node.left if isinstance(node, ast.BinOp) else None
    while isinstance(top, ast.BinOp) and isinstance(top.op, ast.Add):
        top = top.left
    if top is not None:
        new = f"2 * {text.written(top)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(top), new),))


def suggest_token_before(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `tokens[:, t - 1]` for the `tokens[:, t]` that a step of a decoder reads
    and is to predict.
    """
    if "that it is to predict" not in finding.message:
        return
    loop = text.around(node, ast.For)
    names = collect_names(loop.target, ast.Store) if loop is not None else set()
    for part in ast.walk(node):
        index = part.slice if isinstance(part, ast.Subscript) else None
        last = index.elts[-1] if isinstance(index, ast.Tuple) else index
        if isinstance(last, ast.Name) and last.id in names:
            assert isinstance(part, ast.Subscript)
            whole = text.written(part)
            new = f"{last.id} - 1"
            shown = whole[: whole.rindex(last.id)] + new + "]"
            yield Fix("fits", f"`{shown}`", (Edit(text.span(last), new),))
            return
