"""Find trainings that read sorted data without a shuffle."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SORTED_LABELS, looks_for
from shapewright.findings.finding import Finding


@looks_for(SORTED_LABELS)
def find_sorted_labels(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loaders that train on one class after the other."""
    for met in scene.observations("sorted-labels"):
        single, total, classes = met.name.split()
        count = f"{single} of {total}"
        if single == total:
            count = f"all {total}"
        yield build_finding(
            SORTED_LABELS,
            f"the data lie sorted by their {classes} classes, and this loader does not"
            f" shuffle: {count} batches hold one class, so that each step unlearns the"
            " others",
            scene.span(met.place),
        )
