"""Find attention masks that run along the queries, or that show what they should
hide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shapewright.analysis.hazards.causal_masks import (
    HIDES,
    find_hidden_queries,
    find_hiding_term,
    find_shown_targets,
    find_softmax,
    find_true_side,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.full_masks import find_full_masks
from shapewright.analysis.hazards.hidden_choices import find_hidden_choices
from shapewright.analysis.hazards.ignored_masks import find_ignored_masks
from shapewright.analysis.hazards.inverted_padding import find_inverted_padding
from shapewright.analysis.hazards.late_masks import find_late_masks
from shapewright.analysis.hazards.masked_rows import find_masked_rows
from shapewright.analysis.hazards.missing_masks import find_missing_masks
from shapewright.analysis.hazards.padded_tokens import (
    find_padded_tokens,
    find_unpassed_masks,
)
from shapewright.analysis.hazards.unread_masks import find_unread_masks
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall, get_length
from shapewright.analysis.provenance.layer_axes import find_softmax_dim
from shapewright.findings.codes import MASK_AXIS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

HIDING = operators_with("fills_by_mask")


@looks_for(MASK_AXIS)
def find_mask_mistakes(scene: HazardContext) -> Iterator[Finding]:
    """Find masks that do not affect the softmax, or that show the future."""
    yield from find_shown_targets(scene)
    yield from find_missing_masks(scene)
    yield from find_unread_masks(scene)
    yield from find_ignored_masks(scene)
    yield from find_unpassed_masks(scene)
    yield from find_padded_tokens(scene)
    full = list(find_full_masks(scene))
    yield from full or find_late_masks(scene)
    yield from find_hidden_queries(scene)
    yield from find_inverted_padding(scene)
    yield from find_hidden_choices(scene)
    yield from find_masked_rows(scene)
    for call in scene.calls:
        if call.op.span is None:
            continue
        if call.name in ("masked_fill", "masked_fill_") and len(call.dims) > 1:
            yield from _check_fill(scene, call)
        elif call.name in ("where", "+", "add") and len(call.dims) > 1:
            yield from _check_other_masks(scene, call)
        elif call.name == "scaled_dot_product_attention" and len(call.dims) > 3:
            yield from _check_attention(scene, call)
        elif call.name == "scaled_dot_product_attention" and len(call.dims) == 3:
            yield from _check_alignment(scene, call)
        elif call.name == "multi_head_attention_forward":
            yield from _check_heads(scene, call)


def _check_heads(scene: HazardContext, call: OperatorCall) -> Iterator[Finding]:
    """Check a mask of each sample that is repeated for the heads."""
    heads = call.given(4, "num_heads")
    if not isinstance(heads, int) or heads < 2 or len(call.op.inputs[0].shape) != 3:
        return
    batch = call.op.inputs[0].shape[1]
    for fact in call.op.inputs[3:]:
        if len(fact.shape) != 3 or fact.shape[0] != batch * heads or batch < 2:
            continue
        maker = scene.maker(fact)
        while maker is not None and maker.name in CONVERTING and maker.op.inputs:
            maker = scene.maker(maker.op.inputs[0])
        if maker is None or maker.name not in REPEATING or not maker.op.inputs:
            continue
        counts = [value for _, value in maker.op.arguments]
        first = counts[0][0] if counts and isinstance(counts[0], tuple) else counts[0]
        if maker.op.inputs[0].shape[:1] == (batch,) and first == heads:
            message = (
                f"{scene.operation(call.op)} reads the masks of all {heads} heads of"
                f" one sample after each other, but `{maker.name}` puts all {batch}"
                " samples after each other, once for each head"
            )
            why = f"`repeat_interleave({heads}, dim=0)` repeats each sample's mask"
            yield scene.finding(MASK_AXIS, maker.op, message, (maker.op, why))


REPEATING = operators_with("repeats_whole")
CONVERTING = HIDING | operators_with("ignores_given_values")
"""How a mask of truths becomes one of numbers."""


def _check_fill(scene: HazardContext, call: OperatorCall) -> Iterator[Finding]:
    """Check scores that are masked by a fill before a softmax."""
    value = call.given(2, "value")
    if not isinstance(value, int | float) or value > HIDES:
        return
    user = find_softmax(scene, call.op.outputs[0])
    if user is None:
        if (
            _is_attention_mask(scene, call)
            and find_true_side(scene, call.op.inputs[1]) == "past"
        ):
            yield _report_reversed_mask(scene, call, 1, "hides")
        return
    at = find_softmax_dim(user)
    if at is None:
        return
    back = at - len(user.shape)
    mask = call.dims[1]
    if (
        -back <= len(mask)
        and _is_flat(mask, back)
        and get_length(call.dims[0][back]) > 1
    ):
        if not _has_other_mask(scene, call, back) and not _is_turned(scene, user):
            yield _report_constant_mask(scene, call, 1, back, user)
    elif find_true_side(scene, call.op.inputs[1]) == "past":
        yield _report_reversed_mask(scene, call, 1, "hides")


def _is_turned(scene: HazardContext, softmax: OperatorCall) -> bool:
    """Return whether weights are summed along the last dim, and a softmax normalizes
    another one: it is that which is wrong, not the mask.
    """
    result, at = softmax.op.outputs[0], find_softmax_dim(softmax)
    if at is None or at == result.ndim - 1:
        return False
    for _ in range(FEW):
        users = scene.users.get(result.tensor, ())
        if any(user.name in PRODUCTS and user.op.inputs[0] == result for user in users):
            return True
        kept = [user for user in users if user.shape == result.shape]
        if not kept:
            return False
        result = kept[0].op.outputs[0]
    return False


PRODUCTS = operators_with("is_product") | {"@"}
FEW = 3
"""Calls between a softmax and the sum that it weighs."""


def _is_attention_mask(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a tensor of zeros with a fill is the mask of
    `nn.MultiheadAttention`.
    """
    maker = scene.maker(call.op.inputs[0])
    users = scene.users.get(call.op.outputs[0].tensor, ())
    return (maker is None or maker.name == "zeros_like") and any(
        user.name == "multi_head_attention_forward" for user in users
    )


def _check_other_masks(scene: HazardContext, call: OperatorCall) -> Iterator[Finding]:
    """Check scores masked by `where`, or by adding large negative numbers."""
    at = 0 if call.name == "where" else find_hiding_term(scene, call)
    if at is None or (call.name == "where" and not _is_side_hidden(scene, call)):
        return
    user = find_softmax(scene, call.op.outputs[0])
    along = find_softmax_dim(user) if user is not None else None
    if user is None or along is None:
        return
    back = along - len(user.shape)
    mask, scores = call.dims[at], call.dims[1 - at]
    if call.name == "where":
        side = find_true_side(scene, call.op.inputs[0])
        hides_true = _is_number_hiding(scene, call, 1, "input")
        if side == ("past" if hides_true else "future"):
            verb = "hides" if hides_true else "shows"
            yield _report_reversed_mask(scene, call, 0, verb)
            return
    if -back > min(len(mask), len(scores)) or not _is_flat(mask, back):
        return
    is_hidden = _has_other_mask(scene, call, back) or _is_turned(scene, user)
    if get_length(scores[back]) > 1 and not is_hidden:
        yield _report_constant_mask(scene, call, at, back, user)


def _is_side_hidden(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether `where` picks a large negative number on one side of its mask."""
    places = ((2, "other"), (1, "input"))
    return any(_is_number_hiding(scene, call, *place) for place in places)


def _is_number_hiding(
    scene: HazardContext, call: OperatorCall, place: int, name: str
) -> bool:
    """Return whether one side of `where` is a large negative number."""
    number = call.given(place, name)
    if number is None and len(call.op.inputs) > 2:
        maker = scene.maker(call.op.inputs[place])
        number = maker.given(1, "fill_value") if maker is not None else None
        if maker is not None and maker.name in ("tensor", "as_tensor"):
            number = maker.given(0, "data")
    return isinstance(number, int | float) and number <= HIDES


def _check_attention(scene: HazardContext, call: OperatorCall) -> Iterator[Finding]:
    """Check the mask of a fused attention, which is true where a key is visible."""
    fact, mask = call.op.inputs[3], call.dims[3]
    keys = call.dims[1][-2]
    if get_length(mask[-1]) == 1 and get_length(keys) > 1 and _is_flat(mask, -1):
        yield _report_constant_mask(scene, call, 3, -1, call)
    elif fact.dtype == "bool" and find_true_side(scene, fact) == "future":
        yield _report_reversed_mask(scene, call, 3, "shows")
    elif fact.dtype == "bool":
        maker = _find_truths_of_terms(scene, fact)
        if maker is not None:
            message = (
                f"the mask {format_shape(fact)} holds the truths of a mask that is"
                " added to scores: it is true where that hides, and `attn_mask` is true"
                " where a key is seen"
            )
            yield scene.finding(
                MASK_AXIS, call.op, message, (maker.op, "numbers become truths here")
            )


def _check_alignment(scene: HazardContext, call: OperatorCall) -> Iterator[Finding]:
    """Check `is_causal=True` where there are more keys than queries: with a cache."""
    queries, keys = (fact.shape[-2] for fact in call.op.inputs[:2])
    if call.given(5, "is_causal") is not True or queries >= keys:
        return
    message = (
        f"`is_causal=True` with {queries} queries and {keys} keys: query i sees keys 0"
        f" to i only, and the last {keys - queries} keys are seen by none"
    )
    maker = scene.maker(call.op.inputs[1])
    joined = maker.op if maker is not None else None
    yield scene.finding(MASK_AXIS, call.op, message, (joined, "the keys are made here"))


def _find_truths_of_terms(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the conversion to truths of a mask of 0 and large negative numbers."""
    for _ in range(8):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        before = maker.op.inputs[0]
        if before.dtype.startswith(("float", "bfloat")) and fact.dtype == "bool":
            casts = maker.name in ("to", "bool", "type")
            return maker if casts and _is_hiding_term(scene, before) else None
        fact = before
    return None


def _is_hiding_term(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor was made of a large negative number, which hides."""
    waiting, seen = [fact], 0
    while waiting and seen < 16:
        maker = scene.maker(waiting.pop())
        seen += 1
        if maker is None:
            continue
        if any(
            isinstance(value, int | float) and value <= HIDES
            for _, value in maker.op.arguments
        ):
            return True
        waiting += maker.op.inputs
    return False


def _is_flat(mask: tuple[Any, ...], back: int) -> bool:
    """Return whether a mask is constant along a dim but varies along another."""
    others = [dim for at, dim in enumerate(mask) if at != len(mask) + back]
    near = others[-1:] if others else []
    return get_length(mask[back]) == 1 and any(
        get_length(dim) > 1 and any(axis.data for axis in dim) for dim in near
    )


def _has_other_mask(scene: HazardContext, call: OperatorCall, back: int) -> bool:
    """Return whether another mask covers the keys, before or after this one."""
    near = [*scene.users.get(call.op.outputs[0].tensor, ())]
    before = scene.maker(call.op.inputs[0])
    if before is not None:
        near.append(before)
    return any(
        user.name in HIDING
        and any(
            len(dims) >= -back and get_length(dims[back]) > 1 for dims in user.dims[1:]
        )
        for user in near
    )


def _report_constant_mask(
    scene: HazardContext, call: OperatorCall, at: int, back: int, user: OperatorCall
) -> Finding:
    fact = call.op.inputs[at]
    name = scene.names(call.op)[at].rsplit(" (", 1)[0]
    keys = call.dims[1][-2] if at == 3 else call.dims[1 - at][back]
    message = (
        f"the mask {name} {format_shape(fact)} has size 1 along the {get_length(keys)}"
        " keys, so it hides all or none of them: it lies along the queries"
    )
    maker = _find_shaping(scene, fact)
    return scene.finding(
        MASK_AXIS,
        call.op,
        message,
        (user.op, f"the softmax runs along dim {back}, where the mask has size 1"),
        (maker if maker is not call.op else None, "the mask was made here"),
    )


def _find_shaping(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that gave a mask its dims: what only compares, inverts or casts
    it afterwards is passed over.
    """
    maker = scene.program.producers.get(fact.tensor)
    while maker is not None and len(maker.inputs) == 1:
        before = maker.inputs[0]
        if before.shape != fact.shape or maker.span is None:
            break
        earlier = scene.program.producers.get(before.tensor)
        if earlier is None:
            break
        maker = earlier
    return maker


def _report_reversed_mask(
    scene: HazardContext, call: OperatorCall, at: int, verb: str
) -> Finding:
    fact = call.op.inputs[at]
    rest = "the future" if verb == "shows" else "the past, and shows the future"
    message = (
        f"the mask {format_shape(fact)} {verb} {rest}: it is true where"
        f" {'the key comes after' if verb == 'shows' else 'the key comes before'}"
        " the query"
    )
    maker = scene.program.producers.get(fact.tensor)
    reason = (
        "`attn_mask` is true where a key is seen"
        if verb == "shows"
        else "`masked_fill` hides where the mask is true"
    )
    if call.name == "where":
        kept = "keeps the scores" if verb == "shows" else "hides"
        reason = f"`where` {kept} where the mask is true"
    return scene.finding(
        MASK_AXIS,
        call.op,
        message,
        (call.op, reason),
        (maker, "the mask was made here"),
    )
