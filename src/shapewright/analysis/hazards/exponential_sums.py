"""Find logarithms of sums of exponentials that vanish together: `log(exp(x).sum(1))` of
Gaussian log densities is minus infinity where all components are far away.

Of bounded scores, such as similarities over a temperature, the sum is never 0. So the
exponent must have a square with a negative sign, of something that is trained, and
nothing may limit it or subtract its maximum.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOG_OF_ZERO
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

LOGARITHMS = operators_with("is_logarithm")
SUMS = operators_with("adds_up_elements")
VIEWS = operators_with("moves_dims", "regroups_dims", "keeps_elements") | {
    "squeeze",
    "[]",
}
SUBTRACTIONS = operators_with("subtracts")
ARITHMETIC = operators_with("is_arithmetic", "divides_elements")
DIVISIONS = operators_with("divides_elements")
NEGATIONS = operators_with("negates")
SQUARES = frozenset({"square", "pow", "**", "__pow__"})
LEAST = {"float64": -745, "float32": -103, "bfloat16": -92, "float16": -17}
"""The exponent below which an exponential is 0, by dtype."""
MOST = 40
"""Calls of an exponent that are looked at."""


def find_vanishing_sums(scene: HazardContext) -> Iterator[Finding]:
    """Find logarithms of sums of exponentials of negated squares."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in LOGARITHMS or call.op.span in seen or not call.op.inputs:
            continue
        total = _find_maker(scene, call.op.inputs[0])
        if total is None or total.name not in SUMS:
            continue
        powers = _find_maker(scene, total.op.inputs[0])
        if powers is None or powers.name != "exp":
            continue
        exponent = powers.op.inputs[0]
        least = LEAST.get(exponent.dtype)
        square = _find_negated_square(scene, exponent)
        if square is None or least is None:
            continue
        seen.add(call.op.span)
        yield scene.finding(
            LOG_OF_ZERO,
            call.op,
            f"the exponentials are 0 in {exponent.dtype} below an exponent of {least}:"
            " where all of a sum are, its logarithm is minus infinity; `logsumexp` does"
            " not leave the logarithms",
            (powers.op, "the exponentials are taken here"),
            (square.op, "this square, with a negative sign, has no limit"),
        )


def _find_maker(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that made a tensor, in front of views of it, or None."""
    maker = scene.maker(fact)
    while maker is not None and maker.name in VIEWS and maker.op.inputs:
        maker = scene.maker(maker.op.inputs[0])
    return maker if maker is not None and maker.op.inputs else None


def _find_negated_square(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the square of something trained that a sum contains with a negative sign,
    or None; also where anything else than sums and factors stands in between.
    """
    waiting = [(fact, 1)]
    square: OperatorCall | None = None
    for _ in range(MOST):
        if not waiting:
            break
        part, sign = waiting.pop()
        call = _find_maker(scene, part)
        if call is None:
            continue
        if call.name in REDUCING_LIMITS:
            return None
        if call.name in SQUARES:
            is_square = call.name == "square" or call.given(1, "exponent") == 2
            is_trained = call.op.inputs[0].requires_grad
            if sign < 0 and is_square and is_trained and not _is_limited(scene, call):
                square = call
        elif call.name in NEGATIONS:
            waiting.append((call.op.inputs[0], -sign))
        elif call.name in ARITHMETIC:
            waiting += _list_operands(call, sign)
        elif call.name in SUMS:
            waiting.append((call.op.inputs[0], sign))
    return square


def _is_limited(scene: HazardContext, square: OperatorCall) -> bool:
    """Return whether a square is that of a difference within one tensor, which is 0
    for each element itself, or of what lies within limits.
    """
    waiting, ends = [square.op.inputs[0]], list[int]()
    is_scaled = False  # by a width that is trained, which may come near to 0
    for _ in range(MOST):
        if not waiting:
            break
        fact = waiting.pop()
        call = _find_maker(scene, fact)
        if call is not None and call.name in DIVISIONS:
            is_scaled |= any(fact.requires_grad for fact in call.op.inputs[1:])
        if call is not None and call.name in BOUNDED and not is_scaled:
            return True
        if call is not None and call.name in ARITHMETIC:
            waiting += call.op.inputs
        else:
            source = call.op.outputs[0] if call is not None else fact
            ends.append(source.tensor)
    return len(ends) != len(set(ends))


BOUNDED = operators_with("gives_range", "normalizes_along_dim") - {"relu", "relu_"}
"""Calls whose results lie within limits."""
REDUCING_LIMITS = operators_with("limits_elements", "limits_from_below") | {"amax"}
"""Calls that limit an exponent, or find the maximum that is subtracted of it."""


def _list_operands(call: OperatorCall, sign: int) -> list[tuple[Fact, int]]:
    """Return the tensors of a sum, a difference, a product or a quotient, with the
    signs that they have in it, as far as numbers tell.
    """
    facts = call.op.inputs
    number = call.given(1, "other", default=call.given(0))
    is_subtraction = call.name in SUBTRACTIONS
    if len(facts) == 1:
        turning = ("__rsub__", "rsub", "neg")
        is_reversed = call.op.function.endswith(turning) or call.name == "rsub"
        is_factor = not is_subtraction and call.name not in ("+", "add")
        is_negative = isinstance(number, int | float) and number < 0
        turns = is_reversed if is_subtraction else is_factor and is_negative
        return [(facts[0], -sign if turns else sign)]
    second = -sign if is_subtraction else sign
    return [(facts[0], sign), (facts[1], second)]
