"""Find losses of the last batch that are divided by the number of all batches, where
the loop adds up a sum that nothing reads: `loss / len(loader)` beside `train_loss`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.additions import get_addition
from shapewright.analysis.training_mistakes.batch_loops import iter_batch_loops
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.overwritten_sums import find_count_behind
from shapewright.findings.codes import COUNT_NOT_READ
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names
from shapewright.program.unread_counts import READ_AS_WHOLE


def find_unread_sums(scene: RehearsalContext) -> Iterator[Finding]:
    """Find losses of the last batch that are divided where their sum was meant."""
    seen: set[ast.AST] = set()
    for loop in iter_batch_loops(scene):
        if loop.node in seen:
            continue
        seen.add(loop.node)
        text = loop.text
        for addition, name, statement, loss in _iter_sums(loop):
            place = find_count_behind(loop, statement, loss)
            if place is None or _is_read(text, loop.node, name):
                continue
            yield build_finding(
                COUNT_NOT_READ,
                f"`{text.line_of(place[0])}` divides the loss of the last batch by the"
                f" number of all {place[2]}: `{name}` is counted in the loop above and"
                " never read",
                text.span(place[0]),
                (text.span(addition), f"`{text.written(addition)}`, in the loop above"),
            )
            break


def _iter_sums(
    loop: StoryLoop,
) -> Iterator[tuple[ast.AugAssign, str, ast.Assign, str]]:
    """Yield the additions of a loop to a name, each with the statement of the loop that
    computes the number that is added, and that one's name.
    """
    for addition in loop.node.body:
        name, added, _ = get_addition(addition)
        if added is None or not isinstance(addition, ast.AugAssign):
            continue
        names = collect_names(added, ast.Load)
        for statement in loop.node.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if not isinstance(target, ast.Name) or not isinstance(
                statement, ast.Assign
            ):
                continue
            is_of_batch = bool(
                collect_names(statement.value) & collect_names(loop.node, ast.Store)
            )
            if target.id in names and name.isidentifier() and is_of_batch:
                yield addition, name, statement, target.id


def _is_read(text: SourceText, loop: ast.For, name: str) -> bool:
    """Return whether anything in the function of a loop may read a name."""
    scope = text.around(loop, *FUNCTIONS) or text.tree
    is_local = scope is not text.tree
    return any(
        (
            isinstance(node, ast.Name)
            and (node.id == name and not isinstance(node.ctx, ast.Store))
        )
        or (isinstance(node, ast.Name) and node.id in READ_AS_WHOLE)
        or (isinstance(node, ast.Global | ast.Nonlocal) and name in node.names)
        for node in (ast.walk(scope) if is_local and scope is not None else text.nodes)
    )
