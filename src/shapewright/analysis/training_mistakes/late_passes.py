"""Find backward passes behind the loop over batches whose loss they train: the last
batch alone counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.training_mistakes.additions import VALUES, get_addition
from shapewright.analysis.training_mistakes.batch_loops import iter_batch_loops
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.findings.codes import LOSS_OVERWRITTEN
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    iter_own_nodes,
)

SHOWING = frozenset({"print", "float", "isnan", "isfinite", "set_postfix", "format"})
"""Functions that read the number of a loss, and keep nothing of it."""
LEAVING = (ast.Break, ast.Return, ast.Yield, ast.YieldFrom)


def find_late_passes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find losses of single batches whose backward pass stands behind their loop."""
    for loop in iter_batch_loops(scene):
        for statement in loop.node.body:
            used = _find_late_pass(loop, statement)
            if used is None or not isinstance(statement, ast.Assign):
                continue
            text = loop.text
            yield build_finding(
                LOSS_OVERWRITTEN,
                f"`{text.line_of(used)}` stands behind the loop over batches: it trains"
                " with the loss of the last batch alone, and all others are thrown"
                " away",
                text.span(used),
                (text.span(statement), "each batch assigns its loss here"),
                (text.span(loop.node.iter), "the loop is over these"),
            )


def _find_late_pass(loop: StoryLoop, statement: ast.stmt) -> ast.Call | None:
    """Return the backward pass behind a loop of a loss that a statement of it sets, if
    the loop reads nothing but the number of that loss.
    """
    if not isinstance(statement, ast.Assign) or loop.node.orelse:
        return None
    name = statement.targets[0]
    own = list(iter_own_nodes(loop.node))
    if len(statement.targets) != 1 or not isinstance(name, ast.Name):
        return None
    if any(isinstance(node, LEAVING) for node in own) or _has_carried_state(loop.node):
        return None
    uses = [n for n in own if isinstance(n, ast.Name) and n.id == name.id]
    stores = [use for use in uses if isinstance(use.ctx, ast.Store)]
    reads = [use for use in uses if isinstance(use.ctx, ast.Load)]
    if len(stores) != 1 or not all(_is_number(loop.text, read) for read in reads):
        return None
    if not collect_names(statement.value) & collect_names(loop.node, ast.Store):
        return None
    block = find_block(loop.text, loop.node)
    for behind in block[block.index(loop.node) + 1 :]:
        call = _get_pass(behind)
        if call is not None:
            parts = [get_receiver(call), *call.args]
            is_own = any(p and name.id in collect_names(p, ast.Load) for p in parts)
            return call if is_own else None
        if name.id in collect_names(behind, ast.Store):
            return None
    return None


def _get_pass(statement: ast.stmt) -> ast.Call | None:
    """Return the backward pass that a statement is: `loss.backward()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_pass = isinstance(call, ast.Call) and get_called_name(call) == "backward"
    return call if is_pass and isinstance(call, ast.Call) else None


def _is_number(text: SourceText, read: ast.AST) -> bool:
    """Return whether a loss is read for its number: `loss.item()`, `print(loss)`."""
    for outer in text.outwards(read):
        if isinstance(outer, ast.Attribute) and outer.attr in {*VALUES, "detach"}:
            return True
        if isinstance(outer, ast.Call) and get_called_name(outer) in SHOWING:
            return True
        if isinstance(outer, ast.stmt):
            return isinstance(outer, ast.If | ast.Assert)
    return False


def _has_carried_state(loop: ast.For) -> bool:
    """Return whether a turn of a loop hands something on to the next one, other than a
    sum: `state = cell(x, state)`.
    """
    return any(
        isinstance(node, ast.Assign)
        and not get_addition(node)[0]
        and bool(collect_names(node, ast.Store) & collect_names(node.value, ast.Load))
        and not _is_set_before(loop, node)
        for node in iter_own_nodes(loop)
    )


def _is_set_before(loop: ast.For, node: ast.Assign) -> bool:
    """Return whether what a statement reads and assigns is set above it in the loop:
    `x = x.to(device)`.
    """
    names = collect_names(node, ast.Store) & collect_names(node.value, ast.Load)
    above = collect_names(loop.target)
    for other in iter_own_nodes(loop):
        if isinstance(other, ast.Assign) and other.lineno < node.lineno:
            above |= collect_names(other, ast.Store)
    return names <= above
