"""Find running statistics of batch norm that change though they should not, or that do
not though they should.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import (
    STATISTICS_NOT_COPIED,
    STATISTICS_NOT_FROZEN,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.source_text import get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.report import Place


@looks_for(STATISTICS_NOT_FROZEN, of_whole_runs=True)
def find_frozen_statistics(scene: RehearsalContext) -> Iterator[Finding]:
    """Find frozen layers of batch norm that update their statistics in training."""
    for met in scene.observations("frozen-statistics"):
        path, count, *measured = met.name.split()
        who, goes, its = f"`{path}` is", "it goes", "its"
        if count != "1":
            who, goes, its = f"{count} batch norms of `{path}` are", "they go", "their"
        call = _find_evaluation(scene, path)
        effect = "which an evaluation reads"
        if measured:
            effect = "so the features change from those that were evaluated before"
            effect += " the training"
        # Where the program has put it into evaluation mode, nobody means to undo that.
        yield build_finding(
            STATISTICS_NOT_FROZEN,
            f"{who} frozen, but in training mode: {goes} on with {its} running"
            f" statistics, {effect}",
            scene.span(met.place, "train"),
            (call, "`eval()` is called here, and undone by the later `train()`"),
            severity="warning" if call is not None or measured else None,
        )


def _find_evaluation(scene: RehearsalContext, path: str) -> Span | None:
    """Return the call by which the program puts a part of a model into evaluation
    mode, by a name that is one of its path; None where it puts the whole model so.
    """
    names = {name.lower() for name in path.split(".")}
    for text in scene.program.own_texts():
        for node in text.nodes:
            if get_called_name(node) != "eval":
                continue
            receiver = get_receiver(node) if isinstance(node, ast.Call) else None
            name = text.written(receiver).rpartition(".") if receiver else ("", "", "")
            if name[0] and name[2].lower() in names and isinstance(node, ast.Call):
                return text.span(node)
    return None


@looks_for(STATISTICS_NOT_COPIED, of_whole_runs=True)
def find_stale_statistics(scene: RehearsalContext) -> Iterator[Finding]:
    """Find averages of models that keep the statistics that they began with."""
    for met in scene.observations("stale-statistics"):
        yield build_finding(
            STATISTICS_NOT_COPIED,
            f"this updates the parameters of a copy of `{met.name}`, not its buffers:"
            " its batch norm is evaluated with the statistics that it began with",
            _find_loop(scene, met.place),
        )


def _find_loop(scene: RehearsalContext, place: Place) -> Span | None:
    """Return the span of what the loop at a line runs over, else of its statement."""
    text = scene.program.text(place[0])
    for node in text.near(place[1]) if text is not None else ():
        loop = text.around(node, ast.For) if text is not None else None
        if (
            text is not None
            and loop is not None
            and "parameters" in text.written(loop.iter)
        ):
            return text.span(loop.iter)
    return scene.span(place)
