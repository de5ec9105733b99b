"""Find samplers that draw one order in all epochs, as nothing tells them the epoch."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.findings.codes import EPOCH_NOT_SET, looks_for
from shapewright.findings.finding import Finding
from shapewright.record.report import Place


@looks_for(EPOCH_NOT_SET)
def find_unset_epochs(scene: RehearsalContext) -> Iterator[Finding]:
    """Find samplers of a training whose epoch stays the same."""
    seen: set[object] = set()
    for met in scene.observations("epoch-not-set"):
        name, _, epoch = met.name.split()
        if met.other in seen:
            continue
        seen.add(met.other)
        reading = scene.span(met.place)
        outer = _find_outer_loop(scene, met.place)
        yield build_finding(
            EPOCH_NOT_SET,
            f"`{name}` shuffles by its epoch, which stays {epoch} as `set_epoch` is not"
            " called: every epoch reads the samples in the same order",
            scene.span(outer) or reading,
            (scene.span(met.other, name), "the sampler is built here"),
            (reading, "its loader is read here"),
        )


def _find_outer_loop(scene: RehearsalContext, place: Place) -> Place | None:
    """Return the loop around the one that reads a loader, or None."""
    loops: list[StoryLoop] = [
        loop
        for loop in scene.loops()
        if (loop.moment.file, loop.moment.line) == place and loop.outer
    ]
    if not loops:
        return None
    outer = loops[0].outer[-1]
    return outer.file, outer.line
