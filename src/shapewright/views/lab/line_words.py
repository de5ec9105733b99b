"""A drawn call in the words of the line that made it, and whose values it shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from shapewright.rules.maps.drawn import Drawn
from shapewright.rules.maps.renaming import with_names
from shapewright.views.lab.line_calls import Step


def worded(
    step: Step, drawn: Drawn, order: Sequence[str], known: Collection[int]
) -> Drawn:
    """The drawing with the program's names for tensors.

    `order` are the drawing's names for the inputs of the op, `known` the places of
    those that have the values of the run. What has no name, as the result of another
    call, is told below the shapes.
    """
    said: dict[str, str] = {}
    for old, new in zip(order, step.names, strict=True):
        if new:
            said.setdefault(old, new)
    made = with_names(drawn, said)
    now = dict(zip((s.name for s in drawn.inputs), made.inputs, strict=True))
    notes = [
        f"`{now[old].name}` is `{new}`"
        for old, new in said.items()
        if old in now and now[old].name != new
    ]
    valued = {now[order[at]].name for at in known if order[at] in now}
    return replace(
        made,
        text=step.title if step.inside else step.code,
        notes=(*made.notes, *notes, *of_values(made, valued)),
    )


def of_values(drawn: Drawn, known: Collection[str]) -> list[str]:
    """Whose values are shown."""
    shown = [side.name for side in drawn.inputs if side.values is not None]
    if not drawn.maps or not shown:
        return []
    of_run = [f"`{name}`" for name in shown if name in known]
    if not of_run:
        return ["values are made up"]
    if len(of_run) == len(shown):
        return ["values are those of the run"]
    return [f"values of {', '.join(of_run)} are those of the run, others are made up"]
