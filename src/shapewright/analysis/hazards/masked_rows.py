"""Find attention masks that hide padding along the queries as well as along the keys:
the row of a padded query is hidden as a whole, and its softmax is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.causal_masks import FILLS, INVERTING, find_softmax
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import REARRANGING
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_softmax_dim
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

ATTENTION = "multi_head_attention_forward"
EITHER = operators_with("needs_any_truth") | {"|", "|=", "+", "add"}
BOTH = operators_with("needs_all_truths") | {"&", "&=", "*", "mul"}
OUTER = frozenset({"@", "matmul", "bmm"})
KEEPING = (
    REARRANGING
    | operators_with("keeps_mask", "repeats_whole")
    | {"expand_as", "repeat_interleave", "[]", "float"}
) - (operators_with("moves_dims", "transposes_dims") | EITHER | BOTH)
"""Calls after which each row of a mask hides what it hid."""
EQUAL = {"==": True, "eq": True, "!=": False, "ne": False}
"""Comparisons with 0, and whether they invert a mask."""
MENDING = operators_with("replaces_odd_values") | FILLS | {"where", "isnan"}
"""Calls that may replace NaN behind a softmax."""
FARTHEST = 12


@dataclass(frozen=True, slots=True)
class _Rows:
    """The call that joins a mask of whole rows to others, and which input it is."""

    op: Op
    place: int


def find_masked_rows(scene: HazardContext) -> Iterator[Finding]:
    """Find masks of `-inf` that are true for all keys of the padded queries."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in FILLS or len(call.op.inputs) < 2:
            continue
        if call.given(2, "value") != float("-inf"):
            continue
        rows = _find_rows(scene, call.op.inputs[1], True, FARTHEST)
        if rows is None or rows.op.span in seen:
            continue
        user = _find_user(scene, call)
        if user is None:
            continue
        seen.add(rows.op.span)
        name = scene.words(rows.op)[rows.place]
        yield scene.finding(
            MASK_AXIS,
            rows.op,
            f"the mask hides every key of a padded query, by {name}: the softmax of a"
            " row of `-inf` is NaN, and so are the loss and all gradients",
            (user.op, "the mask is used here"),
        )


def _find_user(scene: HazardContext, fill: OperatorCall) -> OperatorCall | None:
    """Return the softmax of scores that are filled, along the last dim, or the layer
    that is given the filled mask, if it computes its weights.
    """
    filled = fill.op.outputs[0]
    for user in scene.users.get(filled.tensor, ()):
        if user.name == ATTENTION:
            return user if user.arguments.get("need_weights") is True else None
    softmax = find_softmax(scene, filled)
    if softmax is None or softmax.op.span is None:
        return None
    if find_softmax_dim(softmax) != len(softmax.op.inputs[0].shape) - 1:
        return None
    weights = softmax.op.outputs[0]
    for _ in range(3):
        users = scene.users.get(weights.tensor, ())
        if any(user.name in MENDING for user in users):
            return None
        onward = [user for user in users if user.name in KEEPING | {"dropout"}]
        if not onward or not onward[0].op.outputs:
            break
        weights = onward[0].op.outputs[0]
    return softmax


def _find_rows(
    scene: HazardContext, fact: Fact, hides: bool, depth: int
) -> _Rows | None:
    """Return where whole rows are hidden in a mask that is true where a key is hidden,
    or where it is seen; None where each row may keep one.
    """
    for _ in range(depth):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        inputs = maker.op.inputs
        if maker.name in (EITHER if hides else BOTH) and len(inputs) == 2:
            for place, part in enumerate(inputs):
                if _is_of_rows(scene, part):
                    return _Rows(maker.op, place)
            parts = (_find_rows(scene, part, hides, depth - 1) for part in inputs)
            return next((rows for rows in parts if rows is not None), None)
        if maker.name in OUTER and not hides and _is_of_rows(scene, inputs[0]):
            return _Rows(maker.op, 0)
        if maker.name in INVERTING:
            hides = not hides
        elif maker.name in EQUAL and len(inputs) == 1:
            if maker.given(1, "other") not in (0, False):
                return None
            hides = hides != EQUAL[maker.name]
        elif maker.name not in KEEPING:
            return None
        fact = inputs[0]
    return None


def _is_of_rows(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a mask has one value for all keys of a query."""
    maker = scene.maker(fact)
    if maker is not None and maker.name in ("expand", "expand_as"):
        fact = maker.op.inputs[0]
    return len(fact.shape) > 1 and fact.shape[-1] == 1 and fact.shape[-2] > 1
