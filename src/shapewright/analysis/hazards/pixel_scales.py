"""Find pictures that are normalized like others, but not divided by 255 before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_base
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import UNSCALED_PIXELS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

SUBTRACTING = operators_with("subtracts") | {"-=", "sub_"}
DIVIDING = operators_with("divides_elements") | {"/", "/=", "div", "div_"}
MULTIPLYING = frozenset({"*", "*=", "mul", "mul_"})
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
    """Find means that are subtracted from bytes here, and from scaled ones there."""
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
