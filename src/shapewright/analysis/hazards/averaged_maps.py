"""Find maps of labels that an interpolation averages and a cast makes labels again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import INTERPOLATED_LABELS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

AVERAGING = frozenset({"bilinear", "bicubic", "linear", "trilinear"})
"""Modes that make values between two labels and keep what is larger than a pixel."""
MAPS = re.compile(r"label|seg|mask|lbl|annot|classes|\bgt\b|_gt\b", re.IGNORECASE)
"""Names of maps whose numbers stand for classes."""
SAME = ("view", "same", "copy")
BLANK = operators_with("is_factory")
FARTHEST = 8
"""Calls between whole numbers and their interpolation, and on to their cast."""


def find_averaged_maps(scene: HazardContext) -> Iterator[Finding]:
    """Find `F.interpolate(labels.float(), mode="bilinear").long()`."""
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name != "interpolate" or op.span is None or op.span in seen:
            continue
        mode = call.given(3, "mode", default="nearest")
        source = op.inputs[0]
        if mode not in AVERAGING or source.requires_grad or not _is_map(source):
            continue
        cast = _find_cast(scene, op.outputs[0])
        if cast is None or not _is_named(scene, call):
            continue
        if not _has_classes(scene, source):
            continue
        seen.add(op.span)
        yield scene.finding(
            INTERPOLATED_LABELS,
            op,
            f"class labels are resized with `{mode}`: between labels 1 and 3 it makes"
            " a 2, a class that is not there",
            (cast.op, "they are whole numbers again here"),
        )


def _is_map(fact: Fact) -> bool:
    """Return whether a tensor may be a batch of maps with one channel."""
    return len(fact.shape) >= 3 and fact.shape[1] == 1


def _is_named(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the program names labels where it resizes them."""
    place = scene.program.node(call.op.span)
    if place is None:
        return False
    return MAPS.search(place[0].line_of(place[0].statement_of(place[1]))) is not None


def _is_same(call: OperatorCall) -> bool:
    """Return whether a call gives the values that it takes, perhaps as another type."""
    return call.op.kind in SAME or call.name in ("to", "type")


def _find_cast(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that makes whole numbers of a tensor, and nothing before it."""
    for _ in range(FARTHEST):
        users = scene.users.get(fact.tensor, ())
        if len(users) != 1 or not _is_same(users[0]):
            return None
        fact = users[0].op.outputs[0]
        if fact.dtype in ("int64", "int32"):
            return users[0]
    return None


def _has_classes(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds whole numbers: a cast of them, or classes that are
    written into zeros.
    """
    for _ in range(FARTHEST):
        if fact.dtype in ("int64", "int32", "int16"):
            return True
        maker = scene.maker(fact)
        if maker is None:
            return False
        if not maker.op.inputs:
            array = str(maker.given(0, "data"))
            is_whole = array.startswith(("<ndarray of int", "<ndarray of uint"))
            return is_whole or (maker.name in BLANK and _is_written(scene, fact))
        if not _is_same(maker) and maker.name != "stack":
            return False
        fact = maker.op.inputs[0]
    return False


def _is_written(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a program writes single classes into a tensor, and nothing else,
    one of them beyond 1.
    """
    numbers: list[object] = []
    for user in scene.users.get(fact.tensor, ()):
        if user.op.kind != "inplace":
            continue
        if user.op.name != "[]=" or len(user.op.inputs) != 1:
            return False
        numbers.append(user.given(2))
    is_whole = all(isinstance(n, int | float) and n == int(n) for n in numbers)
    return is_whole and any(isinstance(n, int | float) and n > 1 for n in numbers)
