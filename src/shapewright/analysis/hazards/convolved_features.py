"""Find convolutions that slide along the features of a sequence, with its steps as
channels: `nn.Conv1d(seq_len, 32, 3)` on (batch, time, features).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.program_run import format_shape
from shapewright.findings.codes import LAYOUT
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Fact

STEPS = re.compile(
    r"(^|_)(seq(uence)?(_?len(gth)?)?|time(_?steps?)?|timesteps?|n_?steps|window"
    r"(_?size)?|look_?back|n_?frames|frames)$",
    re.IGNORECASE,
)
"""How numbers of steps are called."""
TURNING = operators_with("transposes_dims", "moves_dims", "regroups_dims")
FARTHEST = 8
SEQUENCE = len("BTF")


def find_convolved_features(scene: HazardContext) -> Iterator[Finding]:
    """Find `conv1d` layers whose channels are counted as steps, on data as it came."""
    seen: set[str] = set()
    for call in scene.calls:
        layer = scene.program.layer(call.op)
        if call.name != "conv1d" or layer is None or layer.path in seen:
            continue
        shape = call.op.inputs[0].shape
        weight = call.op.inputs[1].shape if len(call.op.inputs) > 1 else ()
        if len(shape) != SEQUENCE or len(weight) != SEQUENCE or weight[-1] < 2:
            continue
        name = _find_count(scene, layer.path)
        if not STEPS.search(name) or not _is_as_it_came(scene, call.op.inputs[0]):
            continue
        seen.add(layer.path)
        message = (
            f"this convolution of {format_shape(call.op.inputs[0])} slides along dim 2,"
            f" the {shape[2]} features, and takes the {shape[1]} steps (`{name}`) for"
            " channels: `transpose(1, 2)` puts the steps last"
        )
        place = scene.program.built.get(layer.path)
        finding = scene.finding(LAYOUT, call.op, message)
        if place is not None and place.span is not None:
            related = (Related(place.span, "it is built here"),)
            finding = replace(finding, related=related)
        yield finding


def _find_count(scene: HazardContext, path: str) -> str:
    """Return the name that a constructor has for the channels of a layer."""
    built = scene.program.built.get(path)
    place = scene.program.call_at(built.span) if built is not None else None
    if place is None:
        return ""
    call = place[1]
    words = [word.value for word in call.keywords if word.arg == "in_channels"]
    values = [*call.args[:1], *words]
    return get_last_name(values[0]) if values else ""


def _is_as_it_came(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor has the dims in which the program has made its data: no
    layer and no call that turns them stands between.
    """
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return True
        if call.name in TURNING or call.name not in PASSING:
            return False
        fact = call.op.inputs[0]
    return False
