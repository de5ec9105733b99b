"""Find moving averages of a model's weights whose factors are exchanged: the average
follows the model at once, and averages nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SWAPPED_AVERAGE, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span
from shapewright.record.ops import Op

MOST_KEPT = 0.2
"""The part of an average that exchanged factors keep, at most."""
CLOSE = 1e-6


@looks_for(SWAPPED_AVERAGE)
def find_swapped_averages(scene: RehearsalContext) -> Iterator[Finding]:
    """Find averages that keep less of themselves than they take of the model."""
    ops = scene.program.trace.ops
    trained = {
        fact.storage
        for op in ops
        for fact in op.inputs
        if fact.requires_grad and fact.is_leaf
    }
    last: dict[int, tuple[float, Op]] = {}
    lines: set[tuple[str, int]] = set()
    for op in ops:
        name = op.name.rpartition(".")[2]
        if not op.inputs or op.span is None:
            continue
        own = op.inputs[0].storage
        if name == "mul_" and len(op.inputs) == 1:
            factor = _get_number(op, "1", "other")
            if factor is not None:
                last[own] = factor, op
            continue
        kept, span = last.pop(own, (None, None))
        taken: float | None = None
        if name == "add_" and len(op.inputs) > 1 and span is not None:
            taken = _get_number(op, "alpha")
        elif name == "lerp_" and len(op.inputs) > 1:
            taken = _get_number(op, "weight", "2")
            kept = None if taken is None else 1 - taken
        if kept is None or taken is None or abs(kept + taken - 1) > CLOSE:
            continue
        source = op.inputs[1].storage
        place = op.span.file, op.span.line
        if source == own or source not in trained or not 0 <= kept <= MOST_KEPT:
            continue
        if kept > 0 and place not in lines:
            lines.add(place)
            yield from _report(op, op.span, kept)


def _report(op: Op, span: Span, kept: float) -> Iterator[Finding]:
    percent = f"{100 * kept:.3g} %"
    yield build_finding(
        SWAPPED_AVERAGE,
        f"the average keeps {percent} of itself in each step and takes the rest from"
        " the model: it is nearly the model, and averages nothing",
        span,
    )


def _get_number(op: Op, *names: str) -> float | None:
    """Return the number that a call was given under one of these names."""
    for name, value in op.arguments:
        if name in names and type(value) in (int, float):
            return float(value)
    return None
