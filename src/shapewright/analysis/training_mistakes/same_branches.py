"""Find an `if` whose two branches do the same, so that what it asks has no effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SAME_BRANCHES, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText

IDLE = (ast.Pass, ast.Continue, ast.Break, ast.Raise)


@looks_for(SAME_BRANCHES)
def find_same_branches(scene: RehearsalContext) -> Iterator[Finding]:
    """Find the conditions of the program that choose between equal branches."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.If) and _is_same(text, node):
                yield build_finding(
                    SAME_BRANCHES,
                    f"`{ast.unparse(node.test)}` has no effect: the program does"
                    f" `{text.written(node.body[-1])}` whether it is true or not",
                    text.span(node.orelse[-1]),
                    (text.span(node.body[-1]), "the same where it is true"),
                )
            elif isinstance(node, ast.IfExp) and (
                ast.unparse(node.body) == ast.unparse(node.orelse)
            ):
                yield build_finding(
                    SAME_BRANCHES,
                    f"`{ast.unparse(node.test)}` has no effect: the value is"
                    f" `{ast.unparse(node.body)}` whether it is true or not",
                    text.span(node),
                )


def _is_same(text: SourceText, node: ast.If) -> bool:
    """Return whether both branches are written alike and do something.

    The cases of a longer chain may be listed for a reader.
    """
    above = text.parent(node)
    is_chain = isinstance(above, ast.If) and above.orelse == [node]
    if is_chain or not node.orelse or isinstance(node.orelse[0], ast.If):
        return False
    if all(isinstance(statement, IDLE) for statement in node.body):
        return False
    first, other = (
        [ast.dump(statement) for statement in branch]
        for branch in (node.body, node.orelse)
    )
    return first == other
