"""Find gradients of the last batches of an epoch that are cleared before a step uses
them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.findings.codes import GRADIENTS_CLEARED_UNUSED
from shapewright.findings.finding import Finding
from shapewright.program.counted_steps import find_lost_gradients
from shapewright.program.syntax_nodes import FUNCTIONS


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
        lost = find_lost_gradients(text, loop.node, total, _count_runs(loop))
        if lost is not None:
            yield build_finding(
                GRADIENTS_CLEARED_UNUSED,
                "the gradients that are cleared here were used by no step: those of the"
                f" last {lost.passes} of {total} batches",
                text.span(lost.clearing),
                (text.span(lost.backward), "they are computed here"),
            )
            return


def _count_runs(loop: StoryLoop) -> int:
    """Return how often the function of a loop is to be followed: twice if it is called
    for each epoch.
    """
    function = loop.text.around(loop.node, *FUNCTIONS)
    around = loop.text.around(loop.node, ast.For)
    is_inside = loop.text.around(around, *FUNCTIONS) is function
    return 1 if around is not None and is_inside else 2
