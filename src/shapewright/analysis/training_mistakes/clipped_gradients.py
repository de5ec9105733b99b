"""Find gradients that are clipped in the wrong place, or stepped while scaled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import (
    CLIPPED_AFTER_STEP,
    CLIPPED_SCALED,
    SCALED_STEP,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.source_text import get_receiver
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.report import Place

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
    for met in scene.observations("clipped-early"):
        yield build_finding(
            CLIPPED_AFTER_STEP,
            "there are no gradients here yet: `backward()` comes after this, and"
            f" `{met.name}` steps with gradients of any size",
            scene.span(met.place, *CLIPS),
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


@looks_for(SCALED_STEP, of_whole_runs=True)
def find_scaled_steps(scene: RehearsalContext) -> Iterator[Finding]:
    """Find optimizers that step directly after the backward pass of a scaled loss."""
    for met in scene.observations("scaled-step"):
        if _is_alternative(scene, met.place):
            continue
        yield build_finding(
            SCALED_STEP,
            f"this step of `{met.name}` uses the gradients of a scaled loss, 65536"
            " times too large at first: only a step of the scaler divides them again",
            scene.span(met.place, "step"),
            (scene.span(met.other, "backward"), "the backward pass of the scaled loss"),
        )


def _is_alternative(scene: RehearsalContext, place: Place) -> bool:
    """Return whether a scaler steps this optimizer on another path of the text."""
    text = scene.program.text(place[0])
    for node in text.near(place[1]) if text is not None else ():
        owner = get_receiver(node) if isinstance(node, ast.Call) else None
        if text is None or owner is None or get_called_name(node) != "step":
            continue
        branch = text.around(node, ast.If, ast.FunctionDef)
        name = text.written(owner)
        return isinstance(branch, ast.If) and any(
            isinstance(other, ast.Call)
            and get_called_name(other) == "step"
            and any(text.written(argument) == name for argument in other.args)
            for other in text.nodes
        )
    return text is None
