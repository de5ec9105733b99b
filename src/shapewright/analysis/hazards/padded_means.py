"""Find means over the steps of sequences that count their padding: that which only
attention leaves out, and that of embeddings which are averaged as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.causal_masks import (
    FILLS,
    INVERTING,
    SUMS,
    find_hiding_term,
)
from shapewright.analysis.hazards.context import ARITHMETIC, HazardContext
from shapewright.analysis.hazards.counted_masks import find_counts_of_the_rest
from shapewright.analysis.hazards.loss_terms import (
    MOST_OPERANDS,
    PRODUCTS,
    QUOTIENTS,
    REARRANGING,
    find_ancestors,
)
from shapewright.analysis.hazards.padded_steps import (
    has_padding_mask,
    read_history,
)
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    find_reduced_dims,
    parse_equation,
)
from shapewright.findings.codes import PADDED_MEAN, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import iter_assignments
from shapewright.record.ops import Fact, Op

PADDING = re.compile(r"\bpad(ding|ded)?\b|pad_|_pad|padding=True", re.IGNORECASE)
TURNING = operators_with("transposes_dims") | {"permute"}
POOLING = "adaptive_avg_pool1d"
CHOOSING = operators_with("takes_mask") | {"where"}
ATTENTION = ("multi_head_attention_forward", "scaled_dot_product_attention")
FARTHEST = 60
"""Calls between attention and the mean of its states, of a deep model."""
NEAREST = 6
"""Calls in front of the mean among which a mask may be applied."""


@looks_for(PADDED_MEAN)
def find_padded_means(scene: HazardContext) -> Iterator[Finding]:
    """Find `states.mean(dim=1)` where attention is given a mask of padding."""
    yield from _find_means_of_zeroed(scene)
    yield from find_counts_of_the_rest(scene)
    seen: set[object] = set()
    for call in scene.calls:
        if call.op.span in seen or call.op.span is None or not call.op.inputs:
            continue
        own = _find_mean_of_rows(scene, call)
        if own is not None:
            seen.add(call.op.span)
            yield own
            continue
        states = _find_states(scene, call)
        if states is None:
            continue
        unread = _find_mean_beside_mask(scene, call, states)
        if unread is not None:
            seen.add(call.op.span)
            yield unread
            continue
        masked = _find_masked(scene, states)
        if masked is None or _is_chosen(scene, states):
            continue
        if not _is_about_padding(scene):
            return
        seen.add(call.op.span)
        name = scene.names(call.op)[0].rsplit(" (", 1)[0]
        name = name if states is call.op.inputs[0] else "the states"
        message = (
            f"the mean over the {states.shape[1]} steps of {name}"
            f" {format_shape(states)} counts padding: a mask hides it from attention,"
            " and not from this"
        )
        where = "attention gets a mask of each sample here"
        yield scene.finding(PADDED_MEAN, call.op, message, (masked, where))


def _find_mean_of_rows(scene: HazardContext, call: OperatorCall) -> Finding | None:
    """Return the finding on a mean of the embeddings of sequences that were filled up,
    which nothing but the mean reads together.
    """
    gone = find_reduced_dims(call) if call.name == "mean" else None
    states = call.op.inputs[0]
    if gone is None or len(gone) != 1 or states.ndim != 3 or gone[0] not in (0, 1):
        return None
    if not scene.in_user_code(call.op) or _is_chosen(scene, states):
        return None
    history = read_history(scene, call, gone[0])
    rows = history.rows
    if rows is None or history.reads_padding or history.masked is not None:
        return None
    if not history.is_of_steps:
        return None
    unpacked = history.unpacked
    if unpacked is not None and not _is_unpacked_near(scene, call, unpacked):
        return None
    count = sum(length < max(rows.lengths) for length in rows.lengths)
    name = scene.names(call.op)[0].rsplit(" (", 1)[0]
    message = (
        f"the mean over the {states.shape[gone[0]]} steps of {name}"
        f" {format_shape(states)} counts padding, of {count} of {len(rows.lengths)}"
        " sequences"
    )
    why = "the shorter ones are filled up behind their end here"
    places = [(history.padding, why)]
    if unpacked is not None:
        places = [(unpacked, "the shorter ones are filled up again here")]
    return scene.finding(PADDED_MEAN, call.op, message, *places)


def _find_mean_beside_mask(
    scene: HazardContext, call: OperatorCall, states: Fact
) -> Finding | None:
    """Return the finding on a mean over the steps of embedded tokens in a function that
    makes a mask of their padding, or is given one, and does not read it.
    """
    place = scene.program.node(call.op.span)
    function = place[0].around(place[1], ast.FunctionDef) if place is not None else None
    if place is None or function is None or not scene.in_user_code(call.op):
        return None
    text, node = place
    mask = _find_unread_mask(text, function, node)
    tokens = [
        maker.op.inputs[0]
        for maker in find_ancestors(scene, states, FARTHEST).values()
        if maker.name == "embedding" and maker.op.inputs
    ]
    if mask is None or not any(f.shape == states.shape[:2] for f in tokens):
        return None
    if _is_chosen(scene, states):
        return None
    message = (
        f"the mean over the {states.shape[1]} steps of"
        f" {scene.names(call.op)[0].rsplit(' (', 1)[0]} {format_shape(states)} counts"
        " padding: nothing reads the mask of the tokens that is here"
    )
    where = Related(text.span(mask), "nothing reads this mask")
    finding = scene.finding(PADDED_MEAN, call.op, message)
    return replace(finding, related=(where,))


KEEPING_MASK = re.compile(
    r"(attention_|attn_|token_|padding_|pad_|valid_|input_)?masks?"
)
KEPT = re.compile(r"!=|\bne\(|not_equal\(|>\s*0")


def _find_unread_mask(
    text: SourceText, function: ast.FunctionDef, before: ast.AST
) -> ast.expr | None:
    """Return the mask of the tokens to keep that a function makes above a node and
    does not read, or None; other masks of it may have been applied.
    """
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    masks = [
        (target, value)
        for target, value in iter_assignments(function, getattr(before, "lineno", 0))
        if isinstance(target, ast.Name) and KEEPING_MASK.fullmatch(target.id)
    ]
    if len(masks) != 1:
        return None
    ((mask, value),) = masks
    is_read = any(
        name.id == text.written(mask) and isinstance(name.ctx, ast.Load)
        for name in names
    )
    return None if is_read or KEPT.search(text.line_of(value)) is None else mask


def _is_unpacked_near(scene: HazardContext, call: OperatorCall, unpacked: Op) -> bool:
    """Return whether a mean reads what an unpacking returns, and nothing multiplies it
    by the number of all steps.
    """
    users = scene.users.get(call.op.outputs[0].tensor, ())
    if any(user.name in SCALING for user in users):
        return False
    makers = iter_first_makers(scene.program, call.op.inputs[0], NEAREST)
    return any(op is unpacked for op in makers)


def _find_states(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the states over whose steps a call takes a mean: by `mean`, by a pooling
    to one step, or by a sum that is divided by the number of all steps.
    """
    if call.name == "mean":
        if scene.in_user_code(call.op) and _is_over_steps(call):
            return call.op.inputs[0]
        gone = find_reduced_dims(call)
        is_last = gone is not None and list(gone) == [2] and call.op.inputs[0].ndim == 3
        return _find_turned(scene, call) if is_last else None
    if call.name == "sum" and scene.in_user_code(call.op) and _is_over_steps(call):
        steps = call.op.inputs[0].shape[1]
        users = scene.users.get(call.op.outputs[0].tensor, ())
        divided = any(
            user.name in QUOTIENTS and user.given(1) == steps for user in users
        )
        return call.op.inputs[0] if divided else None
    if call.name == "einsum" and len(call.op.inputs) == 1:
        equation = parse_equation(call)
        fact = call.op.inputs[0]
        if equation is None or equation[1] is None or fact.ndim != 3:
            return None
        letters = equation[0][0]
        if equation[1] != letters[0] + letters[2]:
            return None
        users = scene.users.get(call.op.outputs[0].tensor, ())
        steps = fact.shape[1]
        is_mean = any(u.name in QUOTIENTS and u.given(1) == steps for u in users)
        return fact if is_mean else None
    if call.name == POOLING and call.shape[-1:] == (1,) and call.op.inputs[0].ndim == 3:
        return _find_turned(scene, call)
    return None


def _find_turned(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the states (samples, steps, features) that a call gets with its last dims
    exchanged.
    """
    turn = scene.maker(call.op.inputs[0])
    is_turned = turn is not None and turn.name in TURNING
    states = turn.op.inputs[0] if turn is not None and is_turned else None
    turned = call.op.inputs[0].shape
    same = states is not None and states.shape == (turned[0], turned[2], turned[1])
    return states if same else None


def _is_over_steps(call: OperatorCall) -> bool:
    """Return whether a mean is taken over dim 1 of (samples, steps, features)."""
    fact = call.op.inputs[0]
    floats = fact.dtype.startswith(("float", "bf"))
    gone = find_reduced_dims(call)
    return floats and fact.ndim == 3 and gone is not None and list(gone) == [1]


def _find_masked(scene: HazardContext, states: Fact) -> Op | None:
    """Return the attention behind some states that got a mask of each sample."""
    waiting, known = [states.tensor], set[int]()
    for _ in range(FARTHEST):
        if not waiting:
            return None
        op = scene.program.producers.get(waiting.pop(0))
        if op is None or op.index in known:
            continue
        known.add(op.index)
        name = op.name.rpartition(".")[2]
        is_crossing = _is_crossing(op, name)
        if has_padding_mask(op, name, states.shape[0]) and not is_crossing:
            return op
        if name in SUMS and _has_hiding_term(scene, op, states.shape[0]):
            return op
        followed = op.inputs[:1] if is_crossing and name in ATTENTION else op.inputs
        computed = [f.tensor for f in followed if f.dtype.startswith(FLOATS)]
        computed = [at for at in computed if at in scene.program.producers]
        waiting += computed[:MOST_OPERANDS]
    return None


FLOATS = ("float", "bf", "complex")


def _has_hiding_term(scene: HazardContext, op: Op, samples: int) -> bool:
    """Return whether a large negative number is added to the scores of each sample,
    where a mask of its own is true.
    """
    at = find_hiding_term(scene, scene.call(op))
    if at is None or len(op.inputs) != 2 or samples < len(op.inputs):
        return False
    scores = op.inputs[1 - at].shape
    is_square = len(scores) > 2 and scores[-1] == scores[-2]
    return is_square and op.inputs[at].shape[:1] == (samples,)


def _is_crossing(op: Op, name: str) -> bool:
    """Return whether attention reads the steps of another sequence than that of its
    queries: a mask of those says nothing of these.
    """
    if name in FILLS and op.inputs:
        scores = op.inputs[0].shape
        return len(scores) > 2 and scores[-1] != scores[-2]
    if name not in ATTENTION or len(op.inputs) < 2:
        return False
    return op.inputs[0].shape[:-1] != op.inputs[1].shape[:-1]


def _is_chosen(scene: HazardContext, states: Fact) -> bool:
    """Return whether a mask is applied to the states in front of the mean."""
    for op in list(iter_first_makers(scene.program, states, NEAREST)):
        name = op.name.rpartition(".")[2]
        if name in CHOOSING:
            return True
        if name in ARITHMETIC and len(op.inputs) == 2:
            other = op.inputs[1].shape
            if other[-1:] == (1,) and other[:2] == states.shape[:2]:
                return True
    return False


def _is_about_padding(scene: HazardContext) -> bool:
    """Return whether the program's own text pads its sequences."""
    texts = scene.program.own_texts()
    return any(PADDING.search(text.text) is not None for text in texts)


def _find_means_of_zeroed(scene: HazardContext) -> Iterator[Finding]:
    """Find `loss.masked_fill(targets == PAD, 0).mean()`, which divides by all
    positions, also those that were set to zero.
    """
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name != "mean" or op.span is None or op.span in seen or not op.inputs:
            continue
        losses = op.inputs[0]
        if not losses.requires_grad or op.outputs[0].ndim or not losses.ndim:
            continue
        zeroing = scene.maker(losses)
        test = _find_zeroing_test(scene, zeroing) if zeroing is not None else None
        if zeroing is None or test is None or not scene.in_user_code(op):
            continue
        users = scene.users.get(op.outputs[0].tensor, ())
        if any(len(user.op.inputs) > 1 and user.name in SCALING for user in users):
            continue  # it is scaled to the number of others
        if not _is_about_padding(scene):
            return
        seen.add(op.span)
        message = (
            f"this mean divides by all {losses.numel} positions, also by those of"
            " padding that were set to zero: the loss is less, the more padding a"
            " batch has"
        )
        yield scene.finding(
            PADDED_MEAN, op, message, (zeroing.op, "they are set to zero here")
        )


SCALING = QUOTIENTS | PRODUCTS


def _find_zeroing_test(scene: HazardContext, call: OperatorCall) -> Op | None:
    """Return the comparison of tokens whose padding a call sets to zero, or None."""
    inputs = call.op.inputs
    if len(inputs) != 2:
        return None
    if call.name in FILLS and call.given(2, "value") == 0:
        mask = inputs[1]
    elif call.name in PRODUCTS:
        mask = next((fact for fact in inputs if not fact.requires_grad), inputs[0])
    else:
        return None
    keeps = call.name in PRODUCTS
    for _ in range(NEAREST):
        maker = scene.maker(mask)
        if maker is None or not maker.op.inputs or mask.shape != inputs[0].shape:
            return None
        if maker.name in INVERTING:
            keeps = not keeps
        elif maker.name in ("==", "eq", "!=", "ne"):
            is_number = type(maker.given(1, "other")) is int
            is_words = maker.name in ("!=", "ne")
            tokens = maker.op.inputs[0]
            is_test = is_number and tokens.dtype == "int64" and is_words == keeps
            return maker.op if is_test and tokens.ndim else None
        elif maker.name not in CASTS or len(maker.op.inputs) > 1:
            return None
        mask = maker.op.inputs[0]
    return None


CASTS = operators_with("keeps_mask") | REARRANGING | {"bool", "to", "float", "type_as"}
