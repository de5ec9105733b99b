"""Find pictures that are normalized like others, but not divided by 255 before, and
those that are divided by 255 twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_targets import JOINING
from shapewright.analysis.hazards.loss_terms import REARRANGING, find_base
from shapewright.analysis.hazards.normalized_pixels import find_divided_normalized
from shapewright.analysis.hazards.pixel_statistics import (
    find_other_statistics,
    find_turned_statistics,
)
from shapewright.analysis.hazards.scaled_labels import find_unscaled_steps
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import UNSCALED_PIXELS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

SUBTRACTING = operators_with("subtracts") | {"-=", "sub_"}
DIVIDING = operators_with("divides_elements") | {"/", "/=", "div", "div_"}
MULTIPLYING = frozenset({"*", "*=", "mul", "mul_"})
PASSING = (
    REARRANGING | JOINING | operators_with("is_view", "drops_elements")
    | {"[]", "interpolate", "flip"}
)  # fmt: skip
"""Calls whose pixels have the scale of those that they are given."""
WHITE = 255
FARTHEST = 12
"""Calls between the bytes of a picture and its normalization."""


@dataclass(frozen=True, slots=True)
class _Normalized:
    """A normalization of a picture, and the call that scaled its bytes, if any."""

    call: OperatorCall
    scaled: OperatorCall | None


@looks_for(UNSCALED_PIXELS)
def find_unscaled_pixels(scene: HazardContext) -> Iterator[Finding]:
    """Find means that are subtracted from bytes here, and from scaled ones there; and
    pixels between 0 and 1 that are divided by 255 again.
    """
    divided = list(find_divided_normalized(scene))
    yield from divided
    places = {finding.span for finding in divided}
    for finding in _find_scaled_twice(scene):
        if finding.span not in places:
            yield finding
    yield from find_unscaled_steps(scene)
    yield from find_other_statistics(scene)
    yield from find_turned_statistics(scene)
    by_mean: dict[object, list[_Normalized]] = {}
    for call in scene.calls:
        if call.name not in SUBTRACTING or not call.op.inputs or call.op.span is None:
            continue
        mean = _get_mean(scene, call)
        if mean is None or call.op.inputs[0].ndim < 2:
            continue
        normalized = _find_bytes(scene, call)
        if normalized is not None:
            by_mean.setdefault(mean, []).append(normalized)
    for pictures in by_mean.values():
        scaled = next((p.scaled for p in pictures if p.scaled), None)
        seen: set[object] = set()
        for picture in pictures if scaled is not None else ():
            if picture.scaled is not None or picture.call.op.span in seen:
                continue
            seen.add(picture.call.op.span)
            name = scene.words(picture.call.op)[0]
            message = (
                f"{name} holds bytes, 0 to 255, and the mean that is subtracted is one"
                " of pixels between 0 and 1: elsewhere they are divided by 255 first"
            )
            op = scaled.op if scaled is not None else None
            where = "pixels of the same mean are scaled here"
            yield scene.finding(UNSCALED_PIXELS, picture.call.op, message, (op, where))


def _find_scaled_twice(scene: HazardContext) -> Iterator[Finding]:
    """Find divisions by 255 of pixels that were divided by it before."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.op.span in seen or not call.op.inputs or not _is_scale(call):
            continue
        source = call.op.inputs[0]
        if source.ndim < 2 or not scene.in_user_code(call.op):
            continue
        first, is_unit = _find_first_scale(scene, source)
        if first is None and not is_unit:
            continue
        seen.add(call.op.span)
        name = scene.words(call.op)[0]
        message = (
            f"the pixels of {name} lie between 0 and 1 already: divided by 255 again,"
            " they are below 0.004, and so are the gradients of what reads them"
        )
        op = first.op if first is not None else None
        if op is not None and op.span is not None and call.op.span is not None:
            # `ToTensor` divides on the same line: the message says it.
            op = op if op.span.line != call.op.span.line else None
        where = "they are divided by 255 here"
        yield scene.finding(UNSCALED_PIXELS, call.op, message, (op, where))


def _is_scale(call: OperatorCall) -> bool:
    """Return whether a call divides floats by 255, or multiplies them by 1 / 255."""
    number = call.given(1)
    if type(number) not in (int, float) or len(call.op.inputs) != 1:
        return False
    if call.name in DIVIDING:
        return bool(WHITE <= number <= WHITE + 1)
    return call.name in MULTIPLYING and abs(number * WHITE - 1) < 1e-2


def _find_first_scale(
    scene: HazardContext, fact: Fact
) -> tuple[OperatorCall | None, bool]:
    """Return the call that divided pixels by 255 first, and whether they are data that
    lie between 0 and 1.
    """
    for _ in range(FARTHEST):
        values = scene.program.data_values.get(fact.tensor)
        if values is not None and fact.dtype.startswith("float"):
            lowest, highest = values.limits or (0.0, WHITE)
            return None, lowest >= 0 and 0.5 < highest <= 1
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None, False
        if _is_scale(call):
            return call, False
        if call.name not in PASSING:
            return None, False
        fact = call.op.inputs[0]
    return None, False


def _get_mean(scene: HazardContext, call: OperatorCall) -> object:
    """Return what tells the mean that a call subtracts from others, or None."""
    if len(call.op.inputs) > 1:
        base = find_base(scene, call.op.inputs[1])
        maker = scene.maker(base)
        if maker is not None and maker.name in ("tensor", "as_tensor"):
            return "values", str(maker.given(0, "data"))  # built for each picture
        return "tensor", base.tensor
    number = call.given(1)
    return ("number", number) if type(number) in (int, float) and number else None


def _find_bytes(scene: HazardContext, call: OperatorCall) -> _Normalized | None:
    """Return how the bytes that a call is given were scaled; None for other data."""
    if call.op.inputs[0].dtype == "uint8":
        return _Normalized(call, None)
    scaled: OperatorCall | None = None
    for op in iter_first_makers(scene.program, call.op.inputs[0], FARTHEST):
        maker = scene.call(op)
        number = maker.given(1)
        if type(number) in (int, float):
            is_scaled = maker.name in DIVIDING and number >= WHITE - 1
            is_scaled |= maker.name in MULTIPLYING and 0 < number < 2 / WHITE
            scaled = maker if is_scaled else scaled
        if op.inputs and op.inputs[0].dtype == "uint8":
            return _Normalized(call, scaled)
        if maker.name in SUBTRACTING:
            return None
    return None
