"""Find columns, (N, 1), that meet rows, (N,), and whose pairs of all with all end in a
loss: `F.mse_loss(q, target)`, `((value - returns) ** 2).mean()`.

No axis need be known to count the samples on both sides. The use of the pairs shows it:
a loss that pairs its sides one to one, in which torch warns of the shapes; or the mean
of all pairs, of which one side is a result and the other was looked up.
A program that wants all pairs reads them along a dim, or makes its column itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ARITHMETIC, HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OUTER_BROADCAST
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

WARNING_LOSSES = operators_with("warns_of_shapes")
ELEMENTWISE = (
    operators_with("computes_each_element", "negates", "leads_to_loss") | ARITHMETIC
) - operators_with("concatenates")
COLUMNS = operators_with("makes_column")
LOOKUPS = operators_with("reads_by_index")
DIFFERENCES = frozenset({"-", "sub", "subtract"})
FARTHEST = 40
"""Calls behind a pair that are looked at."""


def find_paired_losses(scene: HazardContext) -> Iterator[Finding]:
    """Find calls that pair each element of a column with all of a row, for a loss."""
    for call in scene.calls:
        at = _find_column(call)
        if at is None or call.op.span is None:
            continue
        is_pair = call.name in ARITHMETIC and _is_for_loss(scene, call, at)
        if call.name not in WARNING_LOSSES and not is_pair:
            continue
        size, names = call.op.inputs[1 - at].shape[0], scene.names(call.op)
        maker = scene.program.producers.get(call.op.inputs[at].tensor)
        yield scene.finding(
            OUTER_BROADCAST,
            call.op,
            f"{scene.operation(call.op)} of {names[0]} and {names[1]} makes"
            f" ({size}, {size}): each of the {size} samples is combined with every"
            " other",
            (maker, f"{names[at]} was made here"),
        )


def _find_column(call: OperatorCall) -> int | None:
    """Return which of two operands is a column, (N, 1), that meets (N,), or None."""
    inputs = call.op.inputs
    for at in (0, 1) if len(inputs) == 2 else ():
        size = inputs[1 - at].shape
        if len(size) == 1 and size[0] > 1 and inputs[at].shape == (size[0], 1):
            return at
    return None


def _is_for_loss(scene: HazardContext, call: OperatorCall, at: int) -> bool:
    """Return whether all that is made of a call's pairs is a loss that pairs its sides,
    or the mean of pairs of a result and of what was looked up.
    """
    column, row = call.op.inputs[at], call.op.inputs[1 - at]
    size = row.shape[0]
    waiting, met = [call.op.outputs[0]], set[int]()
    has_total = has_partner = False
    while waiting:
        fact = waiting.pop()
        if fact.tensor in met or len(met) > FARTHEST:
            continue
        met.add(fact.tensor)
        for user in scene.users.get(fact.tensor, ()):
            shapes = [other.shape for other in user.op.inputs]
            if user.name in WARNING_LOSSES:
                return (size,) in shapes or (size, 1) in shapes
            if not user.op.outputs or not user.op.outputs[0].shape:
                has_total |= fact.requires_grad
            elif user.name in ELEMENTWISE and user.op.outputs[0].shape == fact.shape:
                has_partner |= user.name in ARITHMETIC and any(
                    other.requires_grad and other.shape in ((size,), (size, 1))
                    for other in user.op.inputs
                )
                waiting.append(user.op.outputs[0])
            else:
                return False
    if not has_total or not _is_made_as_column(scene, column):
        return False
    is_error = call.name in DIFFERENCES and column.requires_grad > row.requires_grad
    return has_partner or (is_error and _is_looked_up(scene, row))


def _is_made_as_column(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a layer or a lookup of one element for each sample made a column,
    not the program itself with a dim that it asks for.
    """
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return False
        if maker.name in COLUMNS:
            return True
        alike = [other for other in maker.op.inputs if other.shape == fact.shape]
        if maker.name not in ELEMENTWISE or not alike:
            return False
        fact = alike[0]
    return False


def _is_looked_up(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a row was looked up by an index, an element for each sample."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return False
        source = maker.op.inputs[0]
        if maker.name in LOOKUPS and source.shape[1:] == fact.shape[1:]:
            return not source.requires_grad
        alike = [other for other in maker.op.inputs if other.shape == fact.shape]
        if maker.name not in ELEMENTWISE or not alike:
            return False
        fact = alike[0]
    return False
