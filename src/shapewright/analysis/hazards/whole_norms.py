"""Find a batch of vectors that is divided by one norm, of all of them: `x / x.norm()`.

A matrix may be scaled by its norm. So the rows must meet each other, or other rows, in
products that sum over their features, as cosines do.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import LAYERS, HazardContext
from shapewright.analysis.hazards.length_sides import LENGTHS
from shapewright.analysis.hazards.loss_terms import JOINS, QUOTIENTS
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import parse_equation
from shapewright.findings.codes import BATCH_DEPENDENCE
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

KEEPING = operators_with("clamps", "adds_terms") | {"clamp_min", "+", "add"}
"""What keeps a norm away from zero."""
SQUARES = frozenset({"pow", "square", "**"})
TURNING = operators_with("transposes_dims") | {"t", "T", "mT", "adjoint"}
PASSING = operators_with("divides_elements", "copies_if_needed") | JOINS
ALONG = PASSING | {"*", "mul", "[]"}
"""Calls behind which a row still has the same direction."""
FARTHEST = 24
"""Calls behind a quotient that are looked at."""
STEPS = 12


def find_whole_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find rows that are divided by the norm of a whole matrix before they are compared
    with other rows.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in QUOTIENTS or len(call.op.inputs) != 2:
            continue
        rows, divisor = call.op.inputs
        if divisor.shape or rows.ndim < 2 or min(rows.shape[0], rows.shape[-1]) < 2:
            continue
        norm = _find_norm(scene, rows, divisor)
        if norm is None or norm.op.span in seen or not _is_of_features(scene, rows):
            continue
        use = _find_similarity(scene, call.op.outputs[0])
        if use is None:
            continue
        seen.add(norm.op.span)
        message = (
            f"all rows of {scene.names(call.op)[0]} are divided by one norm, that of"
            f" the whole {format_shape(rows)}: none has unit length, and its length"
            " depends on the rest of the batch"
        )
        yield scene.finding(
            BATCH_DEPENDENCE,
            norm.op,
            message,
            (use.op, "products of rows are similarities here"),
        )


def _find_norm(scene: HazardContext, rows: Fact, divisor: Fact) -> OperatorCall | None:
    """Return the call that reduced a tensor to the norm that it is divided by: `norm`,
    or the sum of `x.pow(2).sum().sqrt()`.
    """
    for op in iter_first_makers(scene.program, divisor, STEPS):
        call = scene.call(op)
        if not op.inputs or op.outputs[0].shape:
            return None
        if call.name in LENGTHS:
            return call if op.inputs[0].tensor == rows.tensor else None
        if call.name == "sum":
            square = scene.maker(op.inputs[0])
            if square is None or square.name not in SQUARES | {"*", "mul"}:
                return None
            own = {fact.tensor for fact in square.op.inputs} == {rows.tensor}
            is_square = square.given(1, "exponent") in (None, 2)
            return call if own and is_square else None
        if call.name not in KEEPING | {"sqrt"}:
            return None
    return None


def _is_of_features(scene: HazardContext, rows: Fact) -> bool:
    """Return whether the rows are what a layer gave for several samples."""
    if rows.tensor in scene.program.states:
        return False
    makers = iter_first_makers(scene.program, rows, STEPS)
    return any(op.name.rpartition(".")[2] in LAYERS for op in makers)


def _find_similarity(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that sums products of rows over their features, or None."""
    waiting, met = [(fact, False)], set[int]()
    while waiting and len(met) < FARTHEST:
        fact, is_turned = waiting.pop(0)
        for user in scene.users.get(fact.tensor, ()):
            if user.op.index in met or not user.op.outputs:
                continue
            met.add(user.op.index)
            if _is_similarity(scene, user, fact, is_turned):
                return user
            if user.name in TURNING:
                waiting.append((user.op.outputs[0], not is_turned))
            elif user.name in ALONG and user.op.outputs[0].ndim == fact.ndim:
                waiting.append((user.op.outputs[0], is_turned))
    return None


def _is_similarity(
    scene: HazardContext, user: OperatorCall, fact: Fact, is_turned: bool
) -> bool:
    """Return whether a call compares rows with other rows, which are no weights."""
    operands = user.op.inputs
    weights = {state.fact.storage for state in scene.program.trace.states}
    if len(operands) != 2 or any(o.storage in weights for o in operands):
        return False
    at = 0 if operands[0].tensor == fact.tensor else 1
    if user.name == "cdist":
        return not is_turned
    if user.name == "linear":
        return not is_turned
    if user.name == "einsum":
        equation = parse_equation(user)
        return bool(
            equation is not None
            and equation[1] is not None
            and not is_turned
            and equation[0][at][-1] not in equation[1]
        )
    if user.name in ("*", "mul"):
        sums = scene.users.get(user.op.outputs[0].tensor, ())
        rank = fact.ndim
        return not is_turned and any(
            other.name == "sum" and other.given(1, "dim") in (-1, rank - 1)
            for other in sums
        )
    if user.name not in operators_with("is_product") or operands[1].ndim < 2:
        return False
    return is_turned == (at == 1)
