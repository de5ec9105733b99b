"""Schedulers that step too soon, or more often than they can."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.training.gradients import of_kind
from shapewright.reasoning.training.scene import Scene, finding
from shapewright.trace.rehearsal import Moment


def schedules(scene: Scene) -> Iterator[Finding]:
    """Both kinds."""
    for met in of_kind(scene, "scheduled-first"):
        yield finding(
            "scheduler-order",
            f"`{met.name}` steps before its optimizer did: the first learning rate is "
            "skipped",
            scene.span(met.place, "step"),
        )
    yield from too_long(scene, scene.rehearsal.story, 1, True)


def too_long(
    scene: Scene, moment: Moment, times: int, known: bool
) -> Iterator[Finding]:
    """A scheduler with a last step that a whole run goes past."""
    if moment.kind == "schedule" and moment.total is not None and known:
        if times > moment.total:
            yield finding(
                "scheduler-too-long",
                f"`{moment.text}` has {moment.total} steps and is stepped {times:,} "
                "times in a whole run",
                scene.span((moment.file, moment.line), "step"),
                severity="error",
            )
        return
    if moment.kind == "loop":
        known = known and moment.total is not None
        times *= moment.total or 1
    for each in moment.inner:
        regular = each.kind != "schedule" or each.count >= max(moment.ran, 1)
        yield from too_long(scene, each, times, known and regular)
