"""States of models that are kept without a copy."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.training.gradients import of_kind
from shapewright.reasoning.training.scene import Scene, finding


def kept_states(scene: Scene) -> Iterator[Finding]:
    """What a program loads as the state of an earlier step is that of the last."""
    for met in of_kind(scene, "state-not-copied"):
        yield finding(
            "state-not-copied",
            f"this state of `{met.name}` is no copy: the steps that follow change it "
            "too, so that nothing is left to go back to",
            scene.span(met.place, "state_dict"),
            (
                scene.span(met.other, "load_state_dict"),
                "it is loaded here, and is what the model has already",
            ),
        )
