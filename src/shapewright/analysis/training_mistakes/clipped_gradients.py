"""Find gradients that are clipped where it has no effect, or another one."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import CLIPPED_AFTER_STEP, CLIPPED_SCALED, looks_for
from shapewright.findings.finding import Finding

CLIPS = ("clip_grad_norm_", "clip_grad_value_")


@looks_for(CLIPPED_AFTER_STEP, CLIPPED_SCALED)
def find_clipping_mistakes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find gradients that are clipped after their step, or while they are scaled."""
    for met in scene.observations("clipped-late"):
        yield build_finding(
            CLIPPED_AFTER_STEP,
            f"these gradients are clipped after `{met.name}` has used them: the step is"
            " made with the gradients as they were",
            scene.span(met.place, *CLIPS),
            (scene.span(met.other, "step"), "the step"),
        )
    for met in scene.observations("clipped-scaled"):
        yield build_finding(
            CLIPPED_SCALED,
            "these gradients are of a scaled loss: a limit that is meant for the true"
            f" ones makes the step of `{met.name}` thousands of times smaller",
            scene.span(met.place, *CLIPS),
            (
                scene.span(met.other, "step", "unscale_"),
                "only here they are divided by the scale",
            ),
        )
