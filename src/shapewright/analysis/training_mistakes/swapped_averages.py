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
    kept_parts: dict[int, float] = {}  # by storage, of the `mul_` before
    lines: set[tuple[str, int]] = set()
    for op in ops:
        if not op.inputs or op.span is None:
            continue
        own, name = op.inputs[0].storage, op.name.rpartition(".")[2]
        factor = _get_number(op, "1", "other") if len(op.inputs) == 1 else None
        if name == "mul_" and factor is not None:
            kept_parts[own] = factor
            continue
        kept = kept_parts.pop(own, None)
        if len(op.inputs) < 2 or name not in ("add_", "lerp_"):
            continue
        taken = _get_number(op, "alpha", "weight", "2")
        if name == "lerp_" and taken is not None:
            kept = 1 - taken
        if kept is None or taken is None or abs(kept + taken - 1) > CLOSE:
            continue
        source, place = op.inputs[1].storage, (op.span.file, op.span.line)
        if source == own or source not in trained or place in lines:
            continue
        if 0 < kept <= MOST_KEPT:
            lines.add(place)
            yield build_finding(
                SWAPPED_AVERAGE,
                f"the average keeps {100 * kept:.3g} % of itself in each step and takes"
                " the rest from the model: it is nearly the model, and averages"
                " nothing",
                op.span,
            )


def _get_number(op: Op, *names: str) -> float | None:
    """Return the number that a call was given under one of these names."""
    for name, value in op.arguments:
        if name in names and type(value) in (int, float):
            return float(value)
    return None
