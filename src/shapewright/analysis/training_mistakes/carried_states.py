"""Find states of recurrent layers that go from batch to batch of a shuffled loader."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import STATE_OF_OTHER_SAMPLES, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_last_line
from shapewright.record.ops import Fact, Op
from shapewright.record.report import Observation

RECURRENT = operators_with("is_recurrent", "is_recurrent_cell")
PASSING = (
    operators_with("moves_dims", "regroups_dims", "copies_if_needed", "moves_device")
    | operators_with("joins_tensors", "keeps_elements")
    | operators_with("leaves_graph", "shows_range")
)
"""Calls after which a state is the same state."""
FARTHEST = 64


@looks_for(STATE_OF_OTHER_SAMPLES)
def find_states_of_other_samples(scene: RehearsalContext) -> Iterator[Finding]:
    """Find recurrent calls whose state another batch of a shuffled loader left."""
    for met in scene.observations("shuffled"):
        text = scene.program.text(met.place[0])
        for loop in text.for_loops(met.place[1]) if text is not None else ():
            finding = _find_carried(scene, met, loop)
            if finding is not None:
                yield finding
                break


def _find_carried(
    scene: RehearsalContext, met: Observation, loop: ast.For
) -> Finding | None:
    """Return the finding for the first state of a loop that another batch left."""
    lines = range(loop.lineno, get_last_line(loop) + 1)
    for op in scene.program.trace.ops:
        if op.name.rpartition(".")[2] not in RECURRENT or len(op.inputs) < 2:
            continue
        place = _find_frame(op, met.place[0], lines)
        if place is None:
            continue
        before = _find_earlier_call(scene, op)
        if before is None or _find_frame(before, met.place[0], lines) is None:
            continue
        if op.module != before.module or not _is_trained_between(scene, before, op):
            continue
        batches = [_find_batches(scene, call) for call in (op, before)]
        if not all(batches) or batches[0] & batches[1]:
            continue
        message = (
            f"each batch begins with the state that the batch before it left, but"
            f" `{met.name}` is shuffled: a sample begins with the state of another one"
        )
        return build_finding(
            STATE_OF_OTHER_SAMPLES,
            message,
            place,
            (
                scene.span(met.other, "DataLoader"),
                "the loader of this loop has `shuffle=True`",
            ),
            (op.span, "the state is read here"),
        )
    return None


def _is_trained_between(scene: RehearsalContext, before: Op, op: Op) -> bool:
    """Return whether a backward pass ended a batch between two calls."""
    between = scene.program.trace.ops[before.index : op.index]
    return any(call.name.endswith("backward") for call in between)


def _find_frame(op: Op, file: str, lines: range) -> Span | None:
    """Return the place in a loop from which a call was made, or None."""
    for frame in op.frames:
        if frame.span.file == file and frame.span.line in lines:
            return frame.span
    return None


def _find_earlier_call(scene: RehearsalContext, op: Op) -> Op | None:
    """Return the recurrent call that left the state of a later one, or None."""
    for fact in op.inputs[1:4]:
        for _ in range(FARTHEST):
            maker = scene.program.producers.get(fact.tensor)
            if maker is None or not maker.inputs:
                break
            name = maker.name.rpartition(".")[2]
            if name in RECURRENT:
                return maker
            if name not in PASSING:
                break
            fact = maker.inputs[0]
    return None


def _find_batches(scene: RehearsalContext, op: Op) -> set[int]:
    """Return the tensors of batches from which a recurrent call's sequence follows."""
    batches: set[int] = set()
    waiting: list[Fact] = [op.inputs[0]]
    seen: set[int] = set()
    while waiting and len(seen) < FARTHEST:
        fact = waiting.pop()
        if fact.tensor in seen:
            continue
        seen.add(fact.tensor)
        if fact.tensor in scene.program.batches:
            batches.add(fact.tensor)
            continue
        maker = scene.program.producers.get(fact.tensor)
        if maker is not None:
            waiting += maker.inputs
    return batches
