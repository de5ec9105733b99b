"""Find losses whose target is the model's own input, or noise that nothing reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shapewright.analysis.hazards.context import LOSSES, RECURRENT, HazardContext
from shapewright.analysis.hazards.loss_terms import (
    DIFFERENCES,
    PRODUCTS,
    QUOTIENTS,
    REARRANGING,
    SUMS,
    find_ancestors,
    find_base,
)
from shapewright.analysis.hazards.window_targets import find_window_targets
from shapewright.analysis.provenance.axes import Axis
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import UNRELATED_NOISE, UNSHIFTED_TARGET, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

CLASS_LOSSES = operators_with("takes_class_indices")
ROWWISE = operators_with("treats_rows_alone", "drops_elements") | {
    "rms_norm", "log_softmax",
}  # fmt: skip
"""Calls that compute each position from itself alone."""
ELEMENTWISE = operators_with("computes_each_element") | {"gelu", "silu"}
FARTHEST = 400
"""Calls between the input and the loss of a language model."""
TRIANGLES = operators_with("keeps_triangle")
CONVOLUTIONS = frozenset({"conv1d"})
DRAWS = operators_with("is_random") & (
    operators_with("is_sized_factory") | operators_with("ignores_given_values")
) | {"normal"}
JOINING = operators_with("joins_tensors") | {"pad_sequence"}
SQUARES = frozenset({"pow", "**", "square", "abs"})

SHIFTING = re.compile(r"(LMHeadModel|ForCausalLM)$")
"""Models of transformers that compare a position with the label behind it."""

Slices = tuple[Any, ...]


def find_unshifted_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find causal models of tokens whose targets are their own inputs, unshifted, and
    windows of a series whose target is their own last value.
    """
    for call in scene.calls:
        if call.name not in CLASS_LOSSES | {"gather"} or len(call.op.inputs) < 2:
            continue
        if call.op.span is None or call.op.inputs[1].dtype not in ("int64", "uint8"):
            continue
        if call.name == "gather" and not call.op.inputs[0].requires_grad:
            continue
        target, cuts = _find_tokens(scene, call.op.inputs[1])
        if target is None:
            continue
        embedding = _find_embedding(scene, call.op.inputs[0], target, cuts)
        if embedding is None:
            continue
        name = scene.words(call.op)[1]
        message = (
            f"the targets {name} are the tokens that the model reads at the same"
            " positions: it learns to repeat each token, not to predict the next"
        )
        read = (embedding.op, "the model reads the tokens here")
        yield scene.finding(UNSHIFTED_TARGET, call.op, message, read)
    yield from find_window_targets(scene)


def _find_tokens(scene: HazardContext, fact: Fact) -> tuple[Fact | None, Slices]:
    """Return the tensor of which a tensor shows tokens, and the slices taken of it;
    None if it is written to in place once something has read it.
    """
    cuts: Slices = ()
    for _ in range(16):
        is_write = [
            user.op.kind == "inplace"
            for user in scene.users.get(fact.tensor, ())
            if not user.op.outputs or user.op.outputs[0].dtype != "bool"
        ]
        if any(is_write[is_write.index(False) :] if False in is_write else ()):
            return None, ()
        writes = [u for u in scene.users.get(fact.tensor, ()) if u.op.kind == "inplace"]
        call = scene.maker(fact)
        if any(map(_is_write_by_mask, writes)):
            return None, ()  # tokens that are hidden, and predicted at their places
        if writes and not all(map(is_write_of_ignored, writes)):
            return fact, cuts  # filled first, and not what it was made of
        is_masked = call is not None and call.name == "masked_fill"
        if call is None or (len(call.op.inputs) != 1 and not is_masked):
            break
        if is_masked:
            fact = call.op.inputs[0]
            continue
        if call.name == "[]":
            cuts = (call.given(1), *cuts)
        elif call.name not in REARRANGING:
            break
        fact = call.op.inputs[0]
    return fact, cuts


def _is_write_by_mask(call: OperatorCall) -> bool:
    """Return whether a call writes a token wherever a mask is true."""
    masks = [fact for fact in call.op.inputs[1:] if fact.dtype == "bool"]
    return bool(masks) and not is_write_of_ignored(call)


def is_write_of_ignored(call: OperatorCall) -> bool:
    """Return whether a call writes a negative number, which stands for no class."""
    values = call.arguments.values()
    numbers = [value for value in values if isinstance(value, int | float)]
    return call.name in ("[]=", "masked_fill_") and any(n < -1 for n in numbers)


def _find_embedding(
    scene: HazardContext, scores: Fact, target: Fact, cuts: Slices
) -> OperatorCall | None:
    """Return the embedding of the target's own tokens from which each position of the
    scores follows, in a model that hides what comes later; else None.
    """
    waiting: list[tuple[Fact, Slices]] = [(scores, ())]
    seen: set[int] = set()
    embedding, causal = None, False
    time: Axis | None = None
    for _ in range(FARTHEST):
        if not waiting:
            break
        fact, taken = waiting.pop()
        call = scene.maker(fact)
        if call is None or fact.tensor in seen or not call.op.inputs:
            continue
        seen.add(fact.tensor)
        if call.name == "embedding":
            tokens, before = _find_tokens(scene, call.op.inputs[0])
            same = tokens is not None and _is_same_part(scene, tokens, target)
            if same and (*before, *taken) == cuts and len(call.dims[0]) > 1:
                axes = call.dims[0][-1]
                time = axes[0].root if len(axes) == 1 else None
                embedding = call
            continue
        padded = _find_causal_padding(scene, call)
        if padded is not None:
            causal = True
            waiting.append((padded, taken))
            continue
        causal = causal or _is_causal(scene, call)
        is_cut = call.name == "[]" and call.op.inputs[0].shape != fact.shape
        cut = (call.given(1), *taken) if is_cut else taken
        waiting += [(source, cut) for source in _find_same_positions(call, fact)]
    if embedding is None or time is None:
        return None
    if not causal and not _is_of_next_tokens(scene, embedding):
        return None
    return embedding if _has_positions(scene, scores, time) else None


def _is_of_next_tokens(scene: HazardContext, embedding: OperatorCall) -> bool:
    """Return whether an embedding is that of a model of transformers for next tokens,
    which makes its mask itself.
    """
    return any(
        SHIFTING.search(call.class_name) is not None
        and embedding.op.index in range(*call.ops)
        for call in scene.program.trace.calls
    )


def _find_causal_padding(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return what a convolution reads, if it is padded in front only, to its length."""
    if call.name not in CONVOLUTIONS:
        return None
    pad = scene.maker(call.op.inputs[0])
    if pad is None or pad.name != "pad" or not pad.op.inputs:
        return None
    sizes, source = pad.given(1, "pad"), pad.op.inputs[0]
    is_in_front = isinstance(sizes, tuple) and sizes[0] > 0 and not any(sizes[1:])
    return source if is_in_front and call.shape[-1] == source.shape[-1] else None


def _is_same_part(scene: HazardContext, fact: Fact, other: Fact) -> bool:
    """Return whether two tensors are one, or join the same parts of the same ones."""
    if fact.tensor == other.tensor:
        return True
    first, second = scene.maker(fact), scene.maker(other)
    if first is None or second is None or first.name != second.name:
        return False
    if first.name not in JOINING or len(first.op.inputs) != len(second.op.inputs):
        return False
    parts = zip(first.op.inputs, second.op.inputs, strict=True)
    return all(
        (a.storage, a.storage_offset, a.shape) == (b.storage, b.storage_offset, b.shape)
        for a, b in parts
    )


def _has_positions(scene: HazardContext, scores: Fact, time: Axis) -> bool:
    """Return whether the scores have the steps of the tokens among their dims."""
    return any(axis.root is time for dim in scene.flow.of(scores) for axis in dim)


def _find_same_positions(call: OperatorCall, fact: Fact) -> list[Fact]:
    """Return the inputs of a call whose positions are those of its output."""
    first = call.op.inputs[0]
    if call.name in RECURRENT:
        outputs = call.op.outputs
        return [first] if outputs and outputs[0].tensor == fact.tensor else []
    if call.name in SUMS:
        return [f for f in call.op.inputs if f.dtype.startswith(("float", "bf"))]
    if call.name in JOINING:  # features beside features
        inputs = call.op.inputs
        return [f for f in inputs if f.shape[:-1] == fact.shape[:-1] != ()]
    if call.name in PRODUCTS | QUOTIENTS:
        return [first] if len(call.op.inputs) == 1 else []
    if call.name in CONVOLUTIONS and len(call.op.inputs) > 1:
        return [first] if call.op.inputs[1].shape[-1] == 1 else []
    same = call.name in ROWWISE | ELEMENTWISE | REARRANGING
    attention = call.name == "multi_head_attention_forward"
    return [first] if same or attention or call.name == "[]" else []


def _is_causal(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call reads earlier positions and no later ones."""
    if call.name in RECURRENT:
        return True not in call.arguments.values() or not _is_bidirectional(call)
    if call.name == "multi_head_attention_forward":
        masks = [f for f in call.op.inputs if f.shape[-2:-1] == f.shape[-1:]]
        return any(
            maker.name in TRIANGLES or maker.name in ("<", "<=", ">", ">=")
            for mask in masks[-2:]
            for maker in find_ancestors(scene, mask, 8).values()
        )
    if call.name != "+":
        return False
    return any(
        maker.arguments.get("is_causal") is True or maker.name in TRIANGLES
        for fact in call.op.inputs
        for maker in find_ancestors(scene, fact, 24).values()
    )


def _is_bidirectional(call: OperatorCall) -> bool:
    """Return whether a recurrent call returns twice the features of its state."""
    states = call.op.inputs[1:2]
    return bool(states) and call.shape[-1] != states[0].shape[-1]


@looks_for(UNRELATED_NOISE)
def find_unrelated_noise(scene: HazardContext) -> Iterator[Finding]:
    """Find predictions of noise that are compared with other noise."""
    for call in scene.calls:
        if call.op.span is None or len(call.op.inputs) != 2:
            continue
        if call.name not in LOSSES and not _is_squared(scene, call):
            continue
        for at in (1, 0):
            draw = _find_draw(scene, call.op.inputs[at])
            prediction = call.op.inputs[1 - at]
            if draw is None or not prediction.requires_grad:
                continue
            mixed = _find_mixed_noise(scene, prediction, draw)
            if mixed is None:
                continue
            name = scene.words(call.op)[at]
            message = (
                f"the target {name} is noise that is drawn anew and that nothing else"
                " reads: the prediction cannot depend on it"
            )
            yield scene.finding(
                UNRELATED_NOISE,
                call.op,
                message,
                (draw.op, "drawn here"),
                (mixed.op, "the model was given this noise"),
            )
            break


def _is_squared(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call is a difference of which squares are taken; a sum where
    the noise has the other sign.
    """
    return call.name in DIFFERENCES | SUMS and any(
        user.name in SQUARES
        or (user.name in PRODUCTS and len(user.op.inputs) == 2
            and user.op.inputs[0].tensor == user.op.inputs[1].tensor)
        for user in scene.users.get(call.op.outputs[0].tensor, ())
    )  # fmt: skip


def _find_draw(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that drew a tensor, if no other call reads the numbers."""
    for _ in range(4):
        if len(scene.users.get(fact.tensor, ())) != 1:
            return None
        call = scene.maker(fact)
        if call is None or fact.tensor in scene.read_by_refused:
            return None
        if call.name in DRAWS:
            return call
        if call.name in DIFFERENCES and len(call.op.inputs) == 2:
            sides = [f for f in call.op.inputs if (maker := scene.maker(f))
                     and maker.name in DRAWS]  # fmt: skip
            if len(sides) == 1 and not any(f.requires_grad for f in call.op.inputs):
                fact = sides[0]  # the velocity of a flow
                continue
        if call.name not in REARRANGING or len(call.op.inputs) != 1:
            return None
        fact = call.op.inputs[0]
    return None


def _find_mixed_noise(
    scene: HazardContext, prediction: Fact, target: OperatorCall
) -> OperatorCall | None:
    """Return the draw, shaped like the target, that was mixed with data before a model
    made the prediction of it; None if there was none.
    """
    for call in find_ancestors(scene, prediction, FARTHEST).values():
        if call.op.outputs[0].requires_grad or call.shape != target.shape:
            continue
        if call.name == "lerp" and len(call.op.inputs) > 1:
            ends = [_find_scaled_draw(scene, fact) for fact in call.op.inputs[:2]]
            known = [end for end in ends if end is not None]
            if len(known) == 1 and known[0].name == target.name:
                return known[0]
        if call.name not in SUMS or len(call.op.inputs) != 2:
            continue
        noises = [_find_scaled_draw(scene, fact) for fact in call.op.inputs]
        for noise, other in zip(noises, (1, 0), strict=True):
            if noise is None or noises[other] is not None:
                continue
            if noise.name == target.name and noise.shape == target.shape:
                return noise
    return None


def _find_scaled_draw(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that drew what a tensor is a multiple of, or None."""
    waiting = [fact]
    for _ in range(8):
        if not waiting:
            break
        call = scene.maker(find_base(scene, waiting.pop()))
        if call is not None and call.name in DRAWS:
            if call.op.outputs[0].numel == fact.numel:
                return call
        elif call is not None and call.name in PRODUCTS:
            waiting += call.op.inputs
    return None
