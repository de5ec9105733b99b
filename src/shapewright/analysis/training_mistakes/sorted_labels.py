"""Find data that lie one class after the other: read by a training without a shuffle,
or cut into parts for training and for evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SORTED_LABELS, SPLIT_BY_CLASS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import values_of

CLASS_LOSSES = values_of("layer_of_loss")
CASTS = 3
"""Calls between a label and the loss, at most."""
MOST_SHOWN = 4


@looks_for(SORTED_LABELS)
def find_sorted_labels(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loaders that train on one class after the other."""
    seen: set[object] = set()
    for met in scene.observations("sorted-labels"):
        single, total, classes = met.name.split()
        seen.add(met.place)
        count = f"all {total}" if single == total else f"{single} of {total}"
        yield build_finding(
            SORTED_LABELS,
            f"the data lie sorted by their {classes} classes, and this loader does not"
            f" shuffle: {count} batches hold one class, so that each step unlearns the"
            " others",
            scene.span(met.place, "DataLoader"),
        )
    for met in scene.observations("sorted-batches"):
        batches, classes = met.name.split()
        if met.place in seen or not _has_class_loss(scene):
            continue
        seen.add(met.place)
        yield build_finding(
            SORTED_LABELS,
            f"this loader does not shuffle, and each of the {batches} batches that were"
            f" read holds one class, of {classes}: the data lie sorted, and each step"
            " unlearns the other classes",
            scene.span(met.place, "DataLoader"),
        )


@looks_for(SPLIT_BY_CLASS)
def find_other_classes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find evaluations of classes that the training has not, or of one class alone."""
    for met in scene.observations("other-classes"):
        if not _has_class_loss(scene):
            return
        names = met.name.split(",")
        words = f"class {names[0]} alone"
        if len(names) > 1:
            shown = ", ".join(names[:MOST_SHOWN])
            more = " ..." if len(names) > MOST_SHOWN else ""
            words = f"classes {shown}{more}, of which the training has none"
        yield build_finding(
            SPLIT_BY_CLASS,
            f"the samples that this evaluates are of {words}, as parts are of data that"
            " are cut while they lie sorted by class",
            scene.span(met.place, "DataLoader"),
            (scene.span(met.other, "DataLoader"), "the training reads the other part"),
        )


def _has_class_loss(scene: RehearsalContext) -> bool:
    """Return whether a loss over classes takes labels of a loader's batches."""
    program = scene.program
    for op in program.trace.ops:
        if op.name.rpartition(".")[2] not in CLASS_LOSSES or len(op.inputs) < 2:
            continue
        target = op.inputs[1]
        for _ in range(CASTS):
            maker = program.producers.get(target.tensor)
            if target.tensor in program.batches or maker is None or not maker.inputs:
                break
            target = maker.inputs[0]
        if target.tensor in program.batches and target.ndim == 1:
            return True
    return False
