"""Find gradients of the last batches of an epoch that are cleared before a step uses
them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.findings.codes import GRADIENTS_CLEARED_UNUSED
from shapewright.findings.finding import Finding
from shapewright.program.counted_steps import find_lost_gradients
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.report import Moment


def find_lost_remainders(scene: RehearsalContext) -> Iterator[Finding]:
    """Find a clearing in each epoch where counts go on from epoch to epoch.

    A rehearsal of a few turns may miss it, as a count may wait for others.
    """
    if len(scene.training.optimizers) != 1:
        return
    for loop in scene.loops():
        text, total = loop.text, loop.moment.total
        is_trained = any(event.kind == "backward" for event in loop.moment.inner)
        if total is None or total < 2 or not is_trained or not loop.outer:
            continue
        if any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in text.nodes):
            continue  # the program reads gradients itself
        lost = find_lost_gradients(
            text,
            loop.node,
            total,
            _count_runs(loop),
            has_defaults=not scene.rehearsal.arguments,
        )
        if lost is not None:
            is_each = lost.clearing in ast.walk(loop.node)
            whose = "the batch before" if is_each else ""
            yield build_finding(
                GRADIENTS_CLEARED_UNUSED,
                "the gradients that are cleared here were used by no step: those of"
                f" {whose or f'the last {lost.passes} of {total} batches'}",
                text.span(lost.clearing),
                (text.span(lost.backward), "they are computed here"),
            )
            return


def find_cleared_by_hand(scene: RehearsalContext) -> Iterator[Finding]:
    """Find gradients that the statement behind their backward pass takes away:
    `for p in model.parameters(): p.grad = None`.
    """
    seen = {
        (moment.file, moment.line)
        for moment in _iter_backward_passes(scene.rehearsal.story)
    }
    for file, line in sorted(seen):
        text = scene.program.text(file)
        for node in text.near(line) if text is not None else ():
            if text is None or not isinstance(node, ast.Expr):
                continue
            block = getattr(text.parent(node), "body", [])
            after = [part for part in block if part.lineno > line][:1]
            if after and _is_clearing_of(text, after[0]):
                where = after[0].body[0] if _is_clearing(after[0]) else after[0]
                yield build_finding(
                    GRADIENTS_CLEARED_UNUSED,
                    "the gradients that are cleared here were used by no step",
                    text.span(where),
                    (text.span(node), "they are computed here"),
                )


def _iter_backward_passes(moment: Moment) -> Iterator[Moment]:
    """Yield the backward passes of a story."""
    for event in moment.inner:
        if event.kind == "backward":
            yield event
        yield from _iter_backward_passes(event)


def _is_clearing_of(text: SourceText, node: ast.stmt) -> bool:
    """Return whether a statement only clears gradients, or calls a function that does
    nothing else.
    """
    if _is_clearing(node):
        return True
    name = get_called_name(node.value) if isinstance(node, ast.Expr) else ""
    bodies = [function.body for _, function in text.functions(name)] if name else []
    return any(len(body) == 1 and _is_clearing(body[0]) for body in bodies)


def _is_clearing(node: ast.stmt) -> TypeGuard[ast.For]:
    """Return whether a statement only clears the gradients of what it goes over."""
    if not isinstance(node, ast.For) or len(node.body) != 1:
        return False
    name, statement = ast.unparse(node.target), node.body[0]
    if "parameters" not in ast.unparse(node.iter):
        return False
    words = (f"{name}.grad = None", f"{name}.grad.zero_()", f"{name}.grad = 0")
    return ast.unparse(statement) in words


def _count_runs(loop: StoryLoop) -> int:
    """Return how often the function of a loop is to be followed: twice if it is called
    for each epoch.
    """
    function = loop.text.around(loop.node, *FUNCTIONS)
    around = loop.text.around(loop.node, ast.For)
    is_inside = loop.text.around(around, *FUNCTIONS) is function
    return 1 if around is not None and is_inside else 2


def find_early_step(
    text: SourceText, clearing: ast.stmt, backward: ast.stmt
) -> ast.Expr | None:
    """Return the step of an optimizer that stands between the clearing of gradients and
    the backward pass in one block, in front of the gradients that it is to use.
    """
    owner = text.written(clearing).partition(".zero_grad")[0]
    for part in find_block(text, backward):
        call = part.value if isinstance(part, ast.Expr) else None
        is_step = call is not None and get_called_name(call) == "step"
        is_step &= text.written(part).endswith((f"{owner}.step()", f".step({owner})"))
        is_between = clearing.lineno < part.lineno < backward.lineno
        if isinstance(part, ast.Expr) and is_step and is_between:
            return part
    return None
