"""Find partial likelihoods of Cox whose risk sets hold those who left earlier.

At each event the risk is compared with that of all who are still observed: those with
times at least as long. A cumulative sum over ascending times runs over the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import ASCENDING_RISK_SET, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

LOGARITHMS = operators_with("is_logarithm")
READS = operators_with("reads_by_index") | {"[]"}
DIFFERENCES = operators_with("subtracts")
NEGATIONS = operators_with("negates")
JOINS = operators_with("joins_tensors")
SORTS = operators_with("sorts_elements") - {"topk"}
SUMS = frozenset({"+", "add"}) | operators_with("clamps", "limits_elements")
FARTHEST = 6
SURVIVAL = re.compile(
    r"time|durat|surviv|event|censor|status|dead|death|follow|tenure|lifetime", re.I
)
"""Parts of the names of times until an event, and of whether it was observed."""


@looks_for(ASCENDING_RISK_SET)
def find_ascending_risk_sets(scene: HazardContext) -> Iterator[Finding]:
    """Find cumulative sums of risks in the ascending order of times."""
    seen: set[object] = set()
    for call in scene.calls:
        span = call.op.span
        if call.name not in ("logcumsumexp", "cumsum") or span is None or span in seen:
            continue
        if not _is_log_of_sum(scene, call):
            continue
        read = _find_read(scene, call.op.inputs[0], call.name == "cumsum")
        if read is None:
            continue
        sort = _find_ascending_sort(scene, read.op.inputs[1])
        if sort is None or sort.op.inputs[0].requires_grad:
            continue
        if not read.op.inputs[0].requires_grad:
            continue
        if not _has_event(scene, read, sort):
            continue
        seen.add(span)
        key = scene.words(sort.op)[0]
        yield scene.finding(
            ASCENDING_RISK_SET,
            sort.op,
            f"this order is ascending, and the risks are added up in it: each sum holds"
            f" those whose {key} is shorter, and the risk set at an event are those"
            " still observed, with a longer one",
            (call.op, "the risks are added up here"),
        )


def _is_log_of_sum(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a cumulative call gives the logarithm of sums of risks."""
    if call.name == "logcumsumexp":
        return True
    tensors = {fact.tensor for fact in call.op.outputs}
    for _ in range(FARTHEST):
        users = [user for tensor in tensors for user in scene.users.get(tensor, ())]
        if any(user.name in LOGARITHMS for user in users):
            return True
        tensors = {
            fact.tensor
            for user in users
            if user.name in SUMS | PASSING and len(user.op.inputs) == 1
            for fact in user.op.outputs
        }
    return False


def _find_read(
    scene: HazardContext, fact: Fact, needs_exponential: bool
) -> OperatorCall | None:
    """Return the call that put risks in an order, through their exponentials."""
    is_exponential = not needs_exponential
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in READS and len(maker.op.inputs) == 2:
            if is_exponential:
                return maker
            before = scene.maker(maker.op.inputs[0])
            return maker if before is not None and before.name == "exp" else None
        is_shift = maker.name in DIFFERENCES  # the largest, for stability
        if maker.name == "exp":
            is_exponential = True
        elif maker.name not in PASSING - JOINS and not is_shift:
            return None
        fact = maker.op.inputs[0]
    return None


def _find_ascending_sort(scene: HazardContext, index: Fact) -> OperatorCall | None:
    """Return the call that gave an ascending order, or None."""
    for _ in range(2):
        maker = scene.maker(index)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in SORTS:
            is_falling = bool(maker.given(2, "descending", default=False))
            before = scene.maker(maker.op.inputs[0])
            is_turned = before is not None and _is_turned(before)
            return None if is_falling or is_turned else maker
        if maker.name not in PASSING - JOINS or maker.op.inputs[0].numel != index.numel:
            return None
        index = maker.op.inputs[0]
    return None


def _is_turned(call: OperatorCall) -> bool:
    """Return whether a call changes the sign of times: `-time`, `limit - time`."""
    is_negation = call.name in NEGATIONS or call.op.function.endswith(".neg")
    is_from_number = call.op.function.endswith("rsub__") or call.name == "rsub"
    return is_negation or (is_from_number and len(call.op.inputs) == 1)


def _has_event(scene: HazardContext, read: OperatorCall, sort: OperatorCall) -> bool:
    """Return whether something else than risks and times is put in the same order, as
    the events are, and a name says that these are times.
    """
    order = read.op.inputs[1].tensor
    own = read.op.inputs[0].tensor, sort.op.inputs[0].tensor
    others = [
        user
        for user in scene.users.get(order, ())
        if user.name in READS
        and len(user.op.inputs) == 2
        and user.op.inputs[0].tensor not in own
        and not user.op.inputs[0].requires_grad
    ]
    words = [scene.words(sort.op)[0], *(scene.words(user.op)[0] for user in others)]
    return bool(others) and any(SURVIVAL.search(word) for word in words)
