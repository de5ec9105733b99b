"""Find means over the other samples of a class that are 0 / 0 for a sample whose class
no other sample of the batch has; means over a mask that is empty for some items.

Nothing is said where each label stands in the batch twice, as with two views of each
sample, where a sampler makes the batches, or where the count has a limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.causal_masks import INVERTING
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.distance_roots import find_rows
from shapewright.analysis.hazards.loss_terms import (
    AVERAGES,
    DIFFERENCES,
    PRODUCTS,
    QUOTIENTS,
    REARRANGING,
    find_ancestors,
    find_base,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import MEAN_OF_NONE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

EQUAL = frozenset({"eq", "==", "equal"})
OWN = operators_with("writes_by_index") | {"eye", "fill_diagonal_"}
"""Calls that leave out the pairs of a sample with itself."""
COMBINING = (
    DIFFERENCES
    | INVERTING
    | operators_with("needs_all_truths", "fills_by_mask", "repeats_whole")
    | {"&", "fill_diagonal_"}
)
"""Calls that leave pairs out of a mask."""
DOUBLING = operators_with("concatenates", "repeats_whole") | {"repeat_interleave"}
REPLACING = operators_with("replaces_odd_values") | {"[]", "nanmean"}
FARTHEST = 24
NEAREST = 4
"""Calls behind the quotient that may leave out its NaN."""


@looks_for(MEAN_OF_NONE)
def find_means_of_none(scene: HazardContext) -> Iterator[Finding]:
    """Find `(mask * scores).sum(1) / mask.sum(1)` of a mask of equal labels without its
    diagonal.
    """
    seen: set[object] = set()
    yield from _find_empty_masks(scene)
    if any("sampler" in text.text for text in scene.program.own_texts()):
        return
    for call in scene.calls:
        if call.name not in QUOTIENTS or len(call.op.inputs) != 2:
            continue
        if call.op.span is None or call.op.span in seen:
            continue
        if not call.op.outputs[0].requires_grad or _is_replaced(scene, call):
            continue
        count = scene.maker(find_base(scene, call.op.inputs[1]))
        if count is None or count.name not in AVERAGES or len(count.op.inputs) != 1:
            continue
        if max(count.op.outputs[0].shape, default=1) == 1:
            continue  # a count of all pairs
        labels = _find_equal_labels(scene, count.op.inputs[0])
        if labels is None:
            continue
        seen.add(call.op.span)
        name = scene.words(call.op)[1]
        message = (
            f"{name} is 0 for a sample whose label no other sample of the batch has:"
            " 0 / 0 is NaN, and so is the loss"
        )
        where = "labels are compared here, each with the others"
        yield scene.finding(MEAN_OF_NONE, call.op, message, (labels.op, where))


def _find_empty_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find `(mask * scores).sum() / mask.sum()` of masks that the data set leaves empty
    so often that a whole batch may be.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in QUOTIENTS or len(call.op.inputs) != 2:
            continue
        if call.op.span in seen or not call.op.outputs[0].requires_grad:
            continue
        count = scene.maker(find_base(scene, call.op.inputs[1]))
        if count is None or count.name != "sum" or _is_replaced(scene, call):
            continue
        if count.op.outputs[0].shape or len(count.op.inputs) != 1:
            continue
        mask = find_base(scene, count.op.inputs[0])
        batch = scene.maker(mask)
        if batch is None or batch.name != "stack" or _is_asked(scene, mask):
            continue
        if not _is_weighted(scene, call, mask):
            continue
        empty, known = _count_empty_items(scene, batch)
        size = len(batch.op.inputs)
        if not 0 < empty < known or (empty / known) ** size < LEAST_SHARE:
            continue
        seen.add(call.op.span)
        message = (
            f"{scene.words(call.op)[1]} is 0 for a batch whose items are all empty, as"
            f" {empty} of the {known} are that were read: 0 / 0 is NaN, and so are all"
            " weights behind the next step"
        )
        yield scene.finding(MEAN_OF_NONE, call.op, message)


LEAST_SHARE = 1e-3
"""Share of batches that are empty, from which on it is told."""


def _is_asked(scene: HazardContext, mask: Fact) -> bool:
    """Return whether the program reads how much a mask holds, as a condition does."""
    for op in scene.program.trace.ops:
        if op.kind == "read" and op.inputs and not op.inputs[0].requires_grad:
            makers = find_ancestors(scene, op.inputs[0], NEAREST).values()
            read = [fact.tensor for maker in makers for fact in maker.op.inputs]
            if mask.tensor in read:
                return True
    return False


def _is_weighted(scene: HazardContext, call: OperatorCall, mask: Fact) -> bool:
    """Return whether what is divided is a sum of the elements of a mask."""
    total = scene.maker(call.op.inputs[0])
    if total is None or total.name != "sum":
        return False
    product = scene.maker(total.op.inputs[0])
    return (
        product is not None
        and product.name in PRODUCTS
        and any(
            find_base(scene, fact).tensor == mask.tensor for fact in product.op.inputs
        )
    )


def _count_empty_items(scene: HazardContext, batch: OperatorCall) -> tuple[int, int]:
    """Return how many of the items that a line stacks are zero everywhere, and of how
    many this is known.
    """
    empty = known = 0
    for call in scene.calls:
        if call.name != batch.name or call.op.span != batch.op.span:
            continue
        if call.op.inputs[0].shape != batch.op.inputs[0].shape:
            continue
        for fact in call.op.inputs:
            values = scene.program.data_values.get(fact.tensor)
            if values is not None and values.limits is not None:
                known += 1
                empty += values.limits == (0, 0)
    return empty, known


def _find_equal_labels(scene: HazardContext, mask: Fact) -> OperatorCall | None:
    """Return the call that compares the labels of one batch with each other, if a mask
    is made of it and leaves out the diagonal.
    """
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or mask.shape[0] < 2:
        return None
    ancestors = _find_masks(scene, mask)
    names = {call.name for call in ancestors}
    names |= {call.name for call in scene.writes.get(mask.storage, ())}
    if not names & OWN:
        return None
    for call in ancestors:
        if call.name not in EQUAL or len(call.op.inputs) != 2:
            continue
        first, second = (find_rows(scene, fact) for fact in call.op.inputs)
        if first != second or call.op.outputs[0].shape != mask.shape:
            continue
        makers = find_ancestors(scene, call.op.inputs[0], NEAREST).values()
        if not any(maker.name in DOUBLING for maker in makers):
            return call
    return None


def _find_masks(scene: HazardContext, mask: Fact) -> list[OperatorCall]:
    """Return the calls of which a mask is the product, or the first without the
    second: nothing is drawn, added or chosen on the way.
    """
    calls: list[OperatorCall] = []
    waiting, seen = [mask], set[int]()
    while waiting and len(seen) < FARTHEST:
        fact = waiting.pop()
        call = scene.maker(fact)
        if call is None or fact.tensor in seen:
            continue
        seen.add(fact.tensor)
        calls.append(call)
        if call.name in PRODUCTS | COMBINING | REARRANGING:
            waiting += call.op.inputs
    return calls


def _is_replaced(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether what is NaN may be left out behind a quotient."""
    waiting = [call.op.outputs[0].tensor]
    for _ in range(NEAREST):
        users = [user for tensor in waiting for user in scene.users.get(tensor, ())]
        if any(user.name in REPLACING for user in users):
            return True
        waiting = [out.tensor for user in users for out in user.op.outputs]
    return False
