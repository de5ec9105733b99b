"""What is computed for the next turn of a loop above the step of this one, whose graph
needs the weights as they were; data that are made with a gradient in front of a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import collect_names
from shapewright.record.ops import Op


def iter_early_makers(
    history: History, failing: Op, write: Op
) -> Iterator[tuple[SourceText, ast.Assign, ast.stmt]]:
    """Yield the statements of a loop that compute what the next turn reads, with the
    step behind them that changes the weights.
    """
    step, passing = history.find_text(write.span), history.find_text(failing.span)
    if step is None or passing is None:
        return
    text, statement = step
    loop = text.parent(statement)
    block = loop.body if isinstance(loop, ast.For | ast.While) else []
    if statement not in block or passing[1] not in block:
        return
    at = block.index(statement)
    if block.index(passing[1]) > at:
        return
    graph = history.collect_graph(failing.inputs, failing.index)
    old = [op for op in graph.values() if op.index < write.index]
    for number, maker in enumerate(block[:at]):
        if not isinstance(maker, ast.Assign) or "\n" in text.written(maker):
            continue
        is_old = any(_is_called_from(history, op, maker) for op in old)
        if is_old and _is_for_later(block, number, at):
            yield text, maker, statement


def _is_called_from(history: History, op: Op, statement: ast.stmt) -> bool:
    """Return whether a call ran in a statement, or in what it calls."""
    for span in (op.span, *(frame.span for frame in op.frames)):
        place = history.find_text(span)
        if place is not None and place[1] is statement:
            return True
    return False


def _is_for_later(block: list[ast.stmt], number: int, at: int) -> bool:
    """Return whether what a statement assigns is read above it in the block, thus in
    the next turn, and not between it and the step.
    """
    read = collect_names(block[number], ast.Load)
    stored = collect_names(block[number], ast.Store)
    for other in block[number + 1 : at + 1]:
        if stored & collect_names(other) or read & collect_names(other, ast.Store):
            return False
    return any(stored & collect_names(other, ast.Load) for other in block[:number])


def iter_data_with_gradient(
    program: Program, maker: Op, kind: str
) -> Iterator[Related]:
    """Yield where a tensor that is no parameter is made with `requires_grad=True`, of
    which a tensor is computed before a loop.
    """
    waiting, seen = [maker] if kind == "before-loop" else [], set[int]()
    while waiting and len(seen) < FARTHEST:
        op = waiting.pop(0)
        if op.index in seen:
            continue
        seen.add(op.index)
        is_leaf = op.outputs and op.outputs[0].is_leaf and op.outputs[0].requires_grad
        if is_leaf and dict(op.arguments).get("requires_grad") is True:
            if op.outputs[0].tensor not in program.states and op.span is not None:
                words = "it requires a gradient, so that what is made of it has a graph"
                yield Related(op.span, words)
            continue
        makers = [program.producers.get(fact.tensor) for fact in op.inputs]
        waiting += [part for part in makers if part is not None]


FARTHEST = 24
"""Calls before a loop that are followed back."""


def list_early_makers(history: History, failing: Op, write: Op) -> list[Related]:
    """Return the places where the next turn of a loop gets what has an older graph."""
    return [
        Related(
            text.span(maker),
            f"`{text.written(maker.targets[0])}` is made here, before the step, for the"
            " next turn",
        )
        for text, maker, _ in iter_early_makers(history, failing, write)
    ]
