"""Find schedules that wait for a metric and get the number of the epoch: it only rises,
so that the rate falls after `patience` epochs, whatever the loss does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import MISPLACED_ARGUMENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    get_last_name,
)

PLATEAU = "ReduceLROnPlateau"


def find_epochs_as_metrics(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `scheduler.step(epoch)` of a `ReduceLROnPlateau`."""
    for text in scene.program.own_texts():
        if PLATEAU not in text.text:
            continue
        for node in text.nodes:
            if not isinstance(node, ast.Call) or get_called_name(node) != "step":
                continue
            number = node.args[0] if len(node.args) == 1 else None
            owner = get_receiver(node)
            if not isinstance(number, ast.Name) or owner is None:
                continue
            makers = find_defining(text, get_last_name(owner))
            if [get_called_name(maker) for maker in makers] != [PLATEAU]:
                continue
            if _is_turn(text, node, number.id):
                yield build_finding(
                    MISPLACED_ARGUMENT,
                    f"`{text.written(node)}` gives the number of the epoch to"
                    f" `{PLATEAU}`, which waits for a metric: the number only rises,"
                    " and the rate falls whatever the loss does",
                    text.span(node),
                    (text.span(makers[0]), "the schedule is built here"),
                )


def _is_turn(text: SourceText, node: ast.AST, name: str) -> bool:
    """Return whether a name is the number of the turn of a loop around a node."""
    for loop in text.outwards(node):
        if not isinstance(loop, LOOPS) or not isinstance(loop, ast.For):
            continue
        counted = get_called_name(loop.iter) in ("range", "trange", "tqdm", "enumerate")
        if counted and name in collect_names(loop.target, ast.Store):
            return True
    return False
