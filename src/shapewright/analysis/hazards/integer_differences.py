"""Find integers that are not what they are read as: differences of unsigned bytes that
are used as if they could be negative, and masks of integers that `~` inverts.

`a - b` of bytes is right where `b` is never larger: a maximum and what it is of, a mask
and a part of it. So nothing is said of masks and extremes, and the result must be read
as a number with a sign: made a float, or its amount taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, REARRANGING
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import (
    INVERTED_INTEGERS,
    WRAPPED_DIFFERENCE,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

DIFFERENCES = operators_with("subtracts") | {"-=", "sub_", "diff"}
SIGNED = operators_with("reads_sign")
"""Calls that read a number with a sign."""
BOUNDED = operators_with("finds_extremes") | {
    "maximum", "minimum", "max_pool2d", "clamp", "where", "cummax", "cummin", "floor",
    "bitwise_and", "&", "|", "^", "bitwise_or", "*", "mul", "fmod", "remainder", "%",
    "//", "one_hot", "masked_fill", "erode", "<", ">", "<=", ">=", "==", "!=",
}  # fmt: skip
"""Calls whose result is known to be above or below another tensor, or is a mask."""
FARTHEST = 6
KEEPING_BYTES = REARRANGING | {"[]", "stack", "cat"}
KEEPING_TRUTHS = REARRANGING | {"[]", "float", "to"}
"""Calls whose result is the same numbers in another place."""
WEIGHTING = PRODUCTS | {"*=", "mul_"}
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})


@looks_for(INVERTED_INTEGERS)
def find_inverted_integers(scene: HazardContext) -> Iterator[Finding]:
    """Find masks of integers that are inverted with `~` and then weight floats."""
    for call in scene.calls:
        if call.name not in ("~", "bitwise_not") or not call.op.outputs:
            continue
        if call.op.span is None or call.op.inputs[0].dtype not in INTEGERS:
            continue
        use = _find_use(scene, call, _is_weight_of_floats, KEEPING_TRUTHS)
        if use is not None:
            (word,) = scene.words(call.op)[:1]
            dtype = call.op.inputs[0].dtype
            ones, zeros = (254, 255) if dtype == "uint8" else (-2, -1)
            yield scene.finding(
                INVERTED_INTEGERS,
                call.op,
                f"{scene.operation(call.op)} of {word}, which is {dtype}, makes {ones}"
                f" of 1 and {zeros} of 0: only a mask of truths is inverted",
                (use.op, "numbers are multiplied with it here"),
            )


@looks_for(WRAPPED_DIFFERENCE)
def find_wrapped_differences(scene: HazardContext) -> Iterator[Finding]:
    """Find differences of bytes that are read as numbers with a sign."""
    for call in scene.calls:
        if call.name not in DIFFERENCES or call.op.span is None or not call.op.outputs:
            continue
        kinds = {fact.dtype for fact in (*call.op.inputs, *call.op.outputs)}
        pair = len(call.op.inputs) == (1 if call.name == "diff" else 2)
        pair = pair or _is_shift(call)
        if kinds != {"uint8"} or not pair:
            continue
        if any(_is_bounded(scene, fact) for fact in call.op.inputs):
            continue
        use = _find_use(scene, call, _is_read_with_sign, KEEPING_BYTES)
        if use is None:
            continue
        message = (
            f"{scene.operation(call.op)} of {' and '.join(scene.words(call.op))} is a"
            " difference of uint8 numbers, which has no sign: -1 comes out as 255"
        )
        yield scene.finding(
            WRAPPED_DIFFERENCE,
            call.op,
            message,
            (use.op, f"`{use.name}` reads it as a number with a sign"),
        )


LARGEST_BYTE = 255
SMALLEST_SHIFT = 16
"""A number that is subtracted to centre bytes; labels that begin at 1 lose 1."""


def _is_shift(call: OperatorCall) -> bool:
    """Return whether a call subtracts a number from bytes, or bytes from a number that
    some of them exceed: `image - 128`.
    """
    number = call.given(1, "other")
    if len(call.op.inputs) != 1 or type(number) is not int:
        return False
    is_negative = call.op.function.endswith("rsub__") or call.name == "rsub"
    return number >= SMALLEST_SHIFT and not (is_negative and number >= LARGEST_BYTE)


def _is_bounded(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is a mask, or an extreme of others."""
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return False
        if call.name in BOUNDED or call.op.inputs[0].dtype == "bool":
            return True
        if call.name not in REARRANGING and call.name != "[]":
            return False
        fact = call.op.inputs[0]
    return False


def _find_use(
    scene: HazardContext,
    call: OperatorCall,
    is_meant: Callable[[OperatorCall], bool],
    passing: frozenset[str],
) -> OperatorCall | None:
    """Return the call that reads a result in a certain way, or None; `passing` are the
    calls behind which it is still the same.
    """
    fact = call.op.outputs[0]
    for _ in range(FARTHEST):
        users = [
            u for u in scene.users.get(fact.tensor, ()) if u.op.index > call.op.index
        ]
        for user in users:
            if is_meant(user):
                return user
        onward = [u for u in users if u.name in passing]
        if not onward or not onward[0].op.outputs:
            return None
        fact = onward[0].op.outputs[0]
    return None


def _is_read_with_sign(user: OperatorCall) -> bool:
    """Return whether a call reads a number with a sign: as a float, or its amount."""
    out = user.op.outputs[0].dtype if user.op.outputs else "uint8"
    return user.name in SIGNED and (out.startswith("float") or user.name == "abs")


def _is_weight_of_floats(user: OperatorCall) -> bool:
    """Return whether a call multiplies floats with a tensor."""
    is_float = user.op.outputs and user.op.outputs[0].dtype not in INTEGERS
    return bool(is_float) and user.name in WEIGHTING
