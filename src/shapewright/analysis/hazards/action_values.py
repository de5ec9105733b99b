"""Find values of actions that are not those of each sample: the largest of a batch
in a target, the first column by `gather` along the batch, and probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, SUMS
from shapewright.analysis.hazards.value_makers import (
    LINEAR,
    PASSING,
    find_value_maker,
)
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import (
    BATCH_AXIS,
    UNREACHABLE_TARGETS,
    WRONG_AXIS,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

REGRESSIONS = operators_with("warns_of_shapes")
LARGEST = frozenset({"max", "amax"})
SAME = operators_with("leaves_graph", "moves_device", "copies_if_needed")
FARTHEST = 6
DISCOUNTS = 0.5, 1.0
"""Between which a discount lies."""


def find_gathered_columns(scene: HazardContext) -> Iterator[Finding]:
    """Find `q.gather(0, actions)` with a column of actions: it reads one column."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name != "gather" or len(call.op.inputs) != 2:
            continue
        values, index = (fact.shape for fact in call.op.inputs)
        along = call.given(1, "dim")
        if along not in (0, -2) or len(values) != 2 or index != (values[0], 1):
            continue
        maker = find_value_maker(scene, call.op.inputs[0])
        if values[1] < 2 or values[0] < 2 or call.op.span in seen:
            continue
        if maker is None or maker.name not in LINEAR:
            continue
        seen.add(call.op.span)
        message = (
            f"{scene.operation(call.op)} of {format_shape(call.op.inputs[0])} runs"
            f" along dim 0: an index {format_shape(call.op.inputs[1])} then reads the"
            f" first of the {values[1]} columns of other samples, and one of each"
            " sample is read along dim 1"
        )
        yield scene.finding(WRONG_AXIS, call.op, message, (maker.op, "the values"))


def find_largest_of_batches(scene: HazardContext) -> Iterator[Finding]:
    """Find `reward + gamma * q(next).max()`: one number for all the samples."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in LARGEST or len(call.op.inputs) != 1:
            continue
        values = call.op.inputs[0]
        is_whole = not call.op.outputs[0].shape
        is_along = call.given(1, "dim") in (0, -2)
        if values.ndim != 2 or min(values.shape) < 2 or is_whole is is_along:
            continue
        maker = find_value_maker(scene, values)
        if maker is None or maker.name not in LINEAR or call.op.span in seen:
            continue
        target = _find_target(scene, call.op.outputs[0], values.shape)
        if target is None:
            continue
        seen.add(call.op.span)
        is_column = len(target.op.outputs[0].shape) == 2
        keeping = ", kept as a column," if is_column else ""
        number = "without `dim` is one number"
        if is_along:
            number = "along dim 0 is a number of each action"
        message = (
            f"{scene.operation(call.op)} of {format_shape(values)} {number} for all"
            f" {values.shape[0]} samples: the largest value of each sample is"
            f"{keeping} along dim 1"
        )
        yield scene.finding(
            BATCH_AXIS, call.op, message, (target.op, "the target of each sample")
        )


def _find_target(
    scene: HazardContext, fact: Fact, values: tuple[int, ...]
) -> OperatorCall | None:
    """Return the sum of numbers of samples and a discounted number, or None."""
    shapes = ((values[0],), (values[0], 1), values)
    is_discounted = False
    for _ in range(FARTHEST):
        users = scene.users.get(fact.tensor, ())
        if len(users) != 1 or not users[0].op.outputs:
            return None
        user = users[0]
        shape = user.op.outputs[0].shape
        if user.name in SUMS and is_discounted and shape in shapes:
            return user
        if user.name in PRODUCTS:
            is_discounted |= _is_discounting(user)
        elif user.name not in SAME:
            return None
        fact = user.op.outputs[0]
    return None


def _is_discounting(call: OperatorCall) -> bool:
    """Return whether a call multiplies by a number that may be a discount."""
    low, high = DISCOUNTS
    return any(
        isinstance(value, float) and low < value < high
        for _, value in call.op.arguments
    )


def find_values_of_softmax(scene: HazardContext) -> Iterator[Finding]:
    """Find probabilities of actions that are to be rewards and later values."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in REGRESSIONS or len(call.op.inputs) != 2:
            continue
        prediction, target = call.op.inputs
        if not prediction.requires_grad or target.requires_grad:
            continue
        maker = find_value_maker(scene, prediction)
        if maker is None or maker.name != "softmax" or call.op.span in seen:
            continue
        if not _is_gathered(scene, prediction) or not _is_return(scene, target):
            continue
        seen.add(call.op.span)
        name = scene.names(call.op)[0].rsplit(" (", 1)[0]
        yield scene.finding(
            UNREACHABLE_TARGETS,
            call.op,
            f"{name} is a probability by `softmax`, and the targets are rewards and"
            " discounted values: those of all actions sum to 1, and no prediction comes"
            " near them",
            (maker.op, "the last activation"),
        )


def _is_gathered(scene: HazardContext, fact: Fact) -> bool:
    """Return whether one value of each sample was chosen by its number."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or maker.name not in PASSING:
            return False
        if maker.name == "gather":
            return True
        fact = maker.op.inputs[0]
    return False


def _is_return(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is the sum of data and of what a number discounts."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return False
        if maker.name in SUMS and len(maker.op.inputs) == 2:
            return any(_is_product(scene, part) for part in maker.op.inputs)
        if maker.name not in PASSING | SAME:
            return False
        fact = maker.op.inputs[0]
    return False


def _is_product(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a product has a factor that may be a discount."""
    waiting = [fact]
    for _ in range(FARTHEST):
        if not waiting:
            return False
        maker = scene.maker(waiting.pop())
        if maker is None or maker.name not in PRODUCTS:
            continue
        if _is_discounting(maker):
            return True
        waiting += maker.op.inputs
    return False
