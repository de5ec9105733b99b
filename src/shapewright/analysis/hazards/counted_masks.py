"""Find losses of which a mask leaves elements out, and whose sum is divided by the
count of just those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.causal_masks import FILLS, INVERTING, SUMS
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    AVERAGES,
    PRODUCTS,
    QUOTIENTS,
    REARRANGING,
    is_negated,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import PADDED_MEAN
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

FARTHEST = 12
CASTS = (
    operators_with("keeps_mask", "repeats_whole", "keeps_elements")
    | REARRANGING
    | {"bool", "to", "detach"}
)
LIMITS = operators_with("clamps", "limits_elements", "finds_extremes") | SUMS
"""Calls that keep a count from zero."""
EQUAL = {"==": True, "eq": True, "!=": False, "ne": False}


@dataclass(frozen=True, slots=True)
class _Elements:
    """The elements where a mask is true, or where it is false; a mask is the tensor
    that it was made of, and the number that it was compared with.
    """

    mask: tuple[int, object]
    is_true: bool

    def invert(self) -> _Elements:
        """Return the other elements."""
        return _Elements(self.mask, not self.is_true)


def find_counts_of_the_rest(scene: HazardContext) -> Iterator[Finding]:
    """Find `loss.masked_fill(mask, 0).sum() / mask.sum()`."""
    kept: dict[tuple[int, object], set[bool]] | None = None
    seen: set[object] = {None}
    for call in scene.calls:
        inputs = call.op.inputs
        if call.name not in QUOTIENTS or len(inputs) != 2:
            continue
        if not inputs[0].requires_grad:
            continue
        masking = _find_masking(scene, inputs[0])
        if masking is None or masking.op.span in seen:
            continue
        elements, count = _read_kept(scene, masking), _find_count(scene, inputs[1])
        counted = _read_mask(scene, count.op.inputs[0]) if count is not None else None
        if elements is None or count is None or counted != elements.invert():
            continue
        kept = kept or _collect_kept(scene)
        if len(kept.get(elements.mask, ())) > 1:
            continue  # the positive and the negative part, both by one count
        seen.add(masking.op.span)
        words = scene.words(masking.op)
        facts = zip(words, masking.op.inputs, strict=True)
        name = next(word for word, fact in facts if not fact.requires_grad)
        message = (
            f"the loss is summed over the elements on one side of the mask {name}, and"
            " divided by how many are on the other side"
        )
        where = "those on the other side are counted here"
        yield scene.finding(PADDED_MEAN, masking.op, message, (count.op, where))


def _find_masking(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that leaves elements out of a loss, of which a tensor is the
    sum.
    """
    is_sum = False
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if _is_masking(maker):
            return maker if is_sum and scene.in_user_code(maker.op) else None
        is_sum = is_sum or maker.name == "sum"
        if maker.name not in REARRANGING | {"sum"} or len(maker.op.inputs) != 1:
            return None
        fact = maker.op.inputs[0]
    return None


def _is_masking(call: OperatorCall) -> bool:
    """Return whether a call sets elements of a loss to zero by a mask."""
    masks = [fact for fact in call.op.inputs if not fact.requires_grad]
    if len(call.op.inputs) != 2 or len(masks) != 1 or masks[0].numel < 2:
        return False
    if call.name in FILLS:
        return bool(call.given(2, "value") == 0)
    return call.name in PRODUCTS


def _read_kept(scene: HazardContext, call: OperatorCall) -> _Elements | None:
    """Return the elements that a call leaves in a loss."""
    masks = [fact for fact in call.op.inputs if not fact.requires_grad]
    elements = _read_mask(scene, masks[0])
    if elements is None or call.name not in FILLS:
        return elements
    return elements.invert()


def _find_count(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the sum that counts the elements of a mask, behind limits."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or len(maker.op.inputs) != 1:
            return None
        if maker.name == "sum":
            is_whole = maker.op.inputs[0].requires_grad
            return None if is_whole else maker
        if maker.name not in CASTS | LIMITS:
            return None
        fact = maker.op.inputs[0]
    return None


def _read_mask(scene: HazardContext, fact: Fact) -> _Elements | None:
    """Return the elements where a mask of truths, or of 0 and 1, is not 0."""
    is_true, is_mask = True, fact.dtype == "bool"
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or len(maker.op.inputs) != 1:
            break
        number = maker.given(1, "other", default=maker.given(0))
        if maker.name in EQUAL and not isinstance(number, str):
            is_true = is_true == EQUAL[maker.name]
            return _Elements((maker.op.inputs[0].tensor, number), is_true)
        if maker.name in INVERTING or (is_negated(maker) and number == 1):
            is_true = not is_true
        elif maker.name not in CASTS:
            break
        fact = maker.op.inputs[0]
        is_mask = is_mask or fact.dtype == "bool"
    return _Elements((fact.tensor, None), is_true) if is_mask else None


def _collect_kept(scene: HazardContext) -> dict[tuple[int, object], set[bool]]:
    """Return which elements of each mask losses keep that are summed."""
    kept: dict[tuple[int, object], set[bool]] = {}
    for call in scene.calls:
        if not _is_masking(call) or not call.op.outputs:
            continue
        users = scene.users.get(call.op.outputs[0].tensor, ())
        elements = _read_kept(scene, call)
        if elements is not None and any(user.name in AVERAGES for user in users):
            kept.setdefault(elements.mask, set()).add(elements.is_true)
    return kept
