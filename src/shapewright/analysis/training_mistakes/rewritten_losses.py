"""Find losses that a term replaces where it was to be added: `loss += l2`, and then
`loss = weight * identity`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.additions import get_addition
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import LOSS_OVERWRITTEN
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, LOOPS, collect_names

LOSS = re.compile(r"(^|_)(loss|cost|objective)(es)?(_|$)", re.IGNORECASE)


def find_rewritten_losses(scene: RehearsalContext) -> Iterator[Finding]:
    """Find a loss that has got a term, which nothing reads before it is set anew."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target = node.targets[0]
            if not isinstance(target, ast.Name) or not LOSS.search(target.id):
                continue
            lost = _find_lost_addition(text, node, target.id)
            if lost is None or not _is_trained(text, node, target.id):
                continue
            yield build_finding(
                LOSS_OVERWRITTEN,
                f"`{text.line_of(node)}` sets `{target.id}` anew: what was added to it"
                " above is lost, and nothing has read it",
                text.span(node),
                (text.span(lost), "this term is lost"),
            )


def _find_lost_addition(
    text: SourceText, statement: ast.Assign, name: str
) -> ast.stmt | None:
    """Return the last statement that added to a name in the blocks around a statement,
    if the value is not read between the two.
    """
    if name in collect_names(statement.value, ast.Load):
        return None
    if isinstance(statement.value, ast.Constant):
        return None  # a new sum begins
    scope = text.around(statement, *FUNCTIONS) or text.tree
    loop = text.around(statement, *LOOPS)
    outer: list[ast.AST] = [statement, *text.outwards(statement)]
    before = [
        node
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.stmt)
        and node.lineno < statement.lineno
        and get_addition(node)[0] == name
        and not get_addition(node)[2]
        and text.around(node, *LOOPS) is loop
        and text.parent(node) in outer
        and not _is_in_other_branch(text, node, outer)
    ]
    if not before:
        return None
    last = max(before, key=lambda node: node.lineno)
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        if last.lineno < node.lineno < statement.lineno:
            return None  # it is read, or set otherwise
    return last


def _is_in_other_branch(text: SourceText, node: ast.stmt, outer: list[ast.AST]) -> bool:
    """Return whether a statement stands in the branch of a condition that the other
    statement does not.
    """
    around = text.parent(node)
    if not isinstance(around, ast.If):
        return False
    return any(
        (node in around.body) != (other in around.body)
        for other in outer
        if isinstance(other, ast.stmt) and (other in around.body + around.orelse)
    )


def _is_trained(text: SourceText, statement: ast.Assign, name: str) -> bool:
    """Return whether a function returns a loss, or a backward pass begins at it."""
    scope = text.around(statement, *FUNCTIONS) or text.tree
    for node in ast.walk(scope) if scope is not None else ():
        value = node.value if isinstance(node, ast.Return) else None
        if isinstance(node, ast.Attribute) and node.attr == "backward":
            value = node.value
        if value is not None and name in collect_names(value, ast.Load):
            return True
    return False
