"""Find data with NaN or infinities that a layer or a loss computes with, and logarithms
of data that are 0 at places.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import (
    ALL_LOSSES,
    LAYERS,
    RECURRENT,
    HazardContext,
)
from shapewright.analysis.hazards.exponential_sums import find_vanishing_sums
from shapewright.analysis.hazards.lost_limits import find_lost_limits
from shapewright.analysis.hazards.masked_nans import find_masked_nans
from shapewright.analysis.hazards.masked_probabilities import (
    find_logarithms_of_masked,
)
from shapewright.analysis.hazards.rounded_probabilities import (
    find_rounded_probabilities,
)
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOG_OF_ZERO, NAN_IN_DATA, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.data_values import DataValues
from shapewright.record.ops import Fact, Op

LOGARITHMS = operators_with("is_logarithm")
REPLACING = operators_with("replaces_odd_values")
"""Calls that put other values in the place of NaN or infinity, or ask for them."""
CARRYING = (
    operators_with(
        "is_view", "copies_if_needed", "joins_tensors", "keeps_elements", "keeps_shape",
        "is_arithmetic",
    )
    | {"to", "[]", "index_select", "unfold", "-=", "/=", "*=", "+="}
) - REPLACING  # fmt: skip
"""Calls after which a NaN is still there."""
MEASURING = operators_with("adds_up_elements", "measures_spread", "reads_size")
KEEPING_ZEROS = operators_with(
    "is_view", "copies_if_needed", "joins_tensors", "keeps_elements", "keeps_zeros",
    "divides_elements",
) | {"to", "[]", "float"}  # fmt: skip
"""Calls after which a 0 is still 0."""
READERS = LAYERS | RECURRENT | ALL_LOSSES | {"multi_head_attention_forward"}
FARTHEST = 16
"""Calls between data and the call that takes them."""
FEW = 8
"""Items of a data set that are followed."""
MOST = 400
"""Tensors that are followed from one of data."""


@looks_for(NAN_IN_DATA)
def find_nan_in_data(scene: HazardContext) -> Iterator[Finding]:
    """Find data that are not finite and reach a layer or a loss as they are."""
    yield from find_masked_nans(scene)
    seen: set[object] = set()
    for tensor, values in scene.program.data_values.items():
        if not (values.nans or values.infinities):
            continue
        maker = scene.program.producers.get(tensor)
        first = next(iter(scene.users.get(tensor, ())), None)
        op = maker if maker is not None else first.op if first is not None else None
        if op is None or op.span is None or op.span in seen:
            continue
        seen.add(op.span)
        reader = _find_reader(scene, tensor)
        if reader is None:
            continue
        name = "NaN" if values.nans else "infinite"
        count = values.nans or values.infinities
        where = f"{scene.operation(reader.op)} computes with it here"
        message = (
            f"{count:,} of the {values.elements:,} elements of these data"
            f" {'are' if count > 1 else 'is'} {name}: the loss becomes NaN, and with it"
            " all weights"
        )
        yield scene.finding(NAN_IN_DATA, op, message, (reader.op, where))


def _find_reader(scene: HazardContext, tensor: int) -> OperatorCall | None:
    """Return the layer or loss that data reach, or None, also where a call on the way
    may replace what is not finite.
    """
    waiting, seen = [tensor], {tensor}
    reader: OperatorCall | None = None
    items: dict[object, int] = {}
    while waiting and len(seen) < MOST:
        for call in scene.users.get(waiting.pop(0), ()):
            if call.name == "[]" and isinstance(call.given(1), int):
                key = call.op.span, call.op.inputs[0].tensor
                items[key] = items.get(key, 0) + 1
                if items[key] > FEW:
                    continue  # another item of a data set
            if call.name in READERS:
                reader = reader or call
            elif call.name not in CARRYING or _is_chosen_by_mask(call):
                if call.name not in MEASURING:
                    return None
            else:
                new = {fact.tensor for fact in call.op.outputs} - seen
                seen |= new
                waiting += new
    return reader


def _is_chosen_by_mask(call: OperatorCall) -> bool:
    """Return whether a call reads the rows that a mask of truths keeps."""
    return any(fact.dtype == "bool" for fact in call.op.inputs[1:])


@looks_for(LOG_OF_ZERO)
def find_logarithms_of_zero(scene: HazardContext) -> Iterator[Finding]:
    """Find logarithms of data of which some are 0, and of what is left from 1."""
    yield from find_lost_limits(scene)
    yield from find_logarithms_of_masked(scene)
    yield from find_vanishing_sums(scene)
    yield from find_rounded_probabilities(scene)
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in LOGARITHMS or call.op.span in seen or not call.op.inputs:
            continue
        values = _find_values(scene, call.op.inputs[0])
        cut = None if values is not None else _find_cut(scene, call.op.inputs[0])
        if cut is not None and call.op.span is not None:
            seen.add(call.op.span)
            of_mask = cut.name.rpartition(".")[2] in MULTIPLYING
            trained = of_mask and call.op.inputs[0].requires_grad
            if trained or not _is_replaced(scene, call.op):
                yield _report_cut(scene, call, cut, trained)
            continue
        if values is None or not values.zeros or call.op.span is None:
            continue
        seen.add(call.op.span)
        if _is_replaced(scene, call.op):
            continue
        name = scene.words(call.op)[0]
        message = (
            f"{values.zeros:,} of {values.elements:,} elements of {name} are 0 here:"
            f" their logarithm is minus infinity, and what is computed with them"
            " becomes infinite or NaN"
        )
        yield scene.finding(LOG_OF_ZERO, call.op, message)


def _find_values(scene: HazardContext, fact: Fact) -> DataValues | None:
    """Return what was seen in the data that a tensor holds, or None."""
    values = scene.program.data_values.get(fact.tensor)
    if values is not None:
        return values
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        if op.function.endswith("__rtruediv__"):
            return None  # `1 / x`
        if op.name.rpartition(".")[2] not in KEEPING_ZEROS:
            return None
        if op.inputs and op.inputs[0].tensor in scene.program.data_values:
            return scene.program.data_values[op.inputs[0].tensor]
    return None


MAKING_ZEROS = frozenset({"relu", "poisson"})
"""Calls of whose results many elements are 0 exactly."""
MULTIPLYING = frozenset({"*", "mul"})
PARTS = operators_with("reads_by_index")
"""Calls that may leave out what a mask has made 0."""


def _find_cut(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that made an element of a tensor 0 wherever it was below, or
    drew counts, or None.
    """
    is_part = False
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        name = op.name.rpartition(".")[2]
        is_part |= name in PARTS
        if name in MAKING_ZEROS:
            return op if op.span is not None and op.outputs[0].numel > 1 else None
        if name in MULTIPLYING:
            masks = [fact for fact in op.inputs[1:] if _has_zeros(scene, fact)]
            is_masked = bool(masks) and op.span is not None
            return op if is_masked and not is_part else None
        if name not in KEEPING_ZEROS or _is_chosen_by_mask(scene.call(op)):
            return None
        if op.function.endswith("__rtruediv__"):
            return None
    return None


def _has_zeros(scene: HazardContext, fact: Fact) -> bool:
    """Return whether elements of a factor are set to 0, as those of a mask are."""
    for user in scene.users.get(fact.tensor, ()):
        value = dict(user.op.arguments).get("2")
        is_zero = type(value) in (int, float) and value == 0
        if user.name == "[]=" and is_zero and user.op.inputs[0].tensor == fact.tensor:
            return True
    return False


def _report_cut(
    scene: HazardContext, call: OperatorCall, cut: Op, trained: bool
) -> Finding:
    """Report a logarithm of what a call made 0; `trained`: it has a gradient there."""
    name = scene.words(call.op)[0]
    many = "many" if cut.name.rpartition(".")[2] in MAKING_ZEROS else "some"
    message = (
        f"{many} elements of {name} are 0 by {scene.operation(cut)}, and their"
        " logarithm is minus infinity"
    )
    if trained:
        message += ": in backward NaN, even where the values are replaced"
    why = "what is not above 0 becomes 0 here"
    if many == "some":
        why = "zeros are multiplied in here"
    return scene.finding(LOG_OF_ZERO, call.op, message, (cut, why))


def _is_replaced(scene: HazardContext, op: Op) -> bool:
    """Return whether what reads a logarithm chooses among its elements or limits
    them.
    """
    users = [
        call.name for fact in op.outputs for call in scene.users.get(fact.tensor, ())
    ]
    return bool(REPLACING & set(users))
