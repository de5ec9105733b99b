"""Find targets of 0 and 1 for losses of pairs, whose targets are 1 and -1."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import UNREACHABLE_TARGETS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact

TARGETS = values_of("signs_at")
"""Losses whose targets are 1 and -1, and where they stand among the tensors."""
KEEPING = (PASSING - {"pad", "dropout"}) | {"to", "float", "long", "type", "[]"}
JOINS = operators_with("joins_tensors") | {"stack"}
TRUTHS = frozenset({0, 1})
FARTHEST = 24
"""Calls between the targets and what they were drawn or compared from."""


def find_unsigned_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of pairs whose targets are known to be 0 and 1."""
    seen: set[object] = set()
    for call in scene.calls:
        at = TARGETS.get(call.name)
        if at is None or len(call.op.inputs) <= at or call.op.span in seen:
            continue
        values = _find_values(scene, call.op.inputs[at], FARTHEST)
        if values is None or 0 not in values or not values <= TRUTHS:
            continue
        seen.add(call.op.span)
        yield scene.finding(
            UNREACHABLE_TARGETS,
            call.op,
            f"{scene.words(call.op)[at]} holds 0 and 1, and `F.{call.name}` takes 1 and"
            " -1: a pair of the label 0 counts as neither",
        )


def _find_values(
    scene: HazardContext, fact: Fact, left: int
) -> frozenset[float] | None:
    """Return the numbers that a tensor holds, or None if they are not known."""
    known = scene.program.data_values.get(fact.tensor)
    if known is not None and known.kinds:
        return frozenset(map(float, known.kinds))
    if any(user.op.kind == "inplace" for user in scene.users.get(fact.tensor, ())):
        return None
    if fact.dtype == "bool":
        return TRUTHS
    maker = scene.maker(fact)
    if maker is None or not left:
        return None
    if not maker.op.inputs:
        return _read_made(maker)
    if maker.name == "bernoulli":
        return TRUTHS
    if maker.name in JOINS:
        parts = [_find_values(scene, part, left - 1) for part in maker.op.inputs]
        if None in parts:
            return None
        return frozenset[float]().union(*(part for part in parts if part is not None))
    is_same = maker.op.kind in ("view", "same", "copy") or maker.name in KEEPING
    return _find_values(scene, maker.op.inputs[0], left - 1) if is_same else None


def _read_made(maker: OperatorCall) -> frozenset[float] | None:
    """Return the numbers that a call without tensors makes."""
    if maker.name in ("zeros", "ones"):
        return frozenset({float(maker.name == "ones")})
    if maker.name == "full":
        value = maker.given(1, "fill_value")
        return frozenset({float(value)}) if isinstance(value, int | float) else None
    if maker.name == "randint":
        numbers = [maker.given(0, "low"), maker.given(1, "high")]
        if not isinstance(numbers[1], int):
            numbers = [0, maker.given(0, "high")]
        return TRUTHS if numbers == [0, 2] else None
    if maker.name in ("tensor", "FloatTensor", "LongTensor", "as_tensor"):
        return _flatten(maker.given(0, "data"))
    return None


def _flatten(value: object) -> frozenset[float] | None:
    """Return the numbers of a nest of lists, or None if it holds something else."""
    if isinstance(value, int | float):
        return frozenset({float(value)})
    if not isinstance(value, list | tuple):
        return None
    parts = [_flatten(part) for part in value]
    if None in parts:
        return None
    return frozenset[float]().union(*(part for part in parts if part is not None))
