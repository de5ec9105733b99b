"""Find masks beside `is_causal=True` that are not causal: the flag says that they are,
so that a training puts the mask of the future in their place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, ModuleCall, Op, collect_leaves

LAYERS = frozenset({"TransformerEncoder", "TransformerEncoderLayer"})
MASKS = ("mask", "src_mask")
"""The parameters for a mask of these layers."""
OF_FUTURE = operators_with("keeps_triangle", "accumulates", "leaves_values_unset") | {
    "[]=", "tensor", "as_tensor",
}  # fmt: skip
"""What may make a mask of the future."""
SYMMETRIC = frozenset({"abs", "==", "!="})
"""What makes a mask that hides as much of the past as of the future."""
SIGNED = operators_with("subtracts", "compares_elements") | {"<", ">", "<=", ">="}
"""What tells the past from the future, if no absolute value is taken behind it."""
FARTHEST = 24
"""Calls behind a mask that are looked at."""


def find_ignored_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find calls with `is_causal=True` and a mask that hides past and future alike."""
    seen: set[object] = {None}
    for layer in scene.program.trace.calls:
        if layer.class_name not in LAYERS or layer.span in seen:
            continue
        _, words = layer.inputs
        padding = words.get("src_key_padding_mask")
        if words.get("is_causal") is not True or isinstance(padding, Fact):
            continue
        place = scene.program.call_at(layer.span)
        mask = _get_mask(layer)
        if place is None or mask is None or not _has_flag(place[1]):
            continue
        maker = _find_symmetric_maker(scene, mask)
        op = next((op for op in scene.program.trace.ops if op.span == layer.span), None)
        if maker is None or op is None:
            continue
        seen.add(layer.span)
        message = (
            f"`is_causal=True` tells `{layer.class_name}` that the mask is the one of"
            " the future, which then takes its place in training: this mask hides as"
            " much of the past, and has no effect"
        )
        yield scene.finding(
            MASK_AXIS, op, message, (maker, "past and future are alike here")
        )


def _get_mask(layer: ModuleCall) -> Fact | None:
    """Return the mask of the steps that a layer was given."""
    arguments, words = layer.inputs
    values = [words[name] for name in MASKS if name in words] or [*arguments[1:2]]
    masks = collect_leaves(values)
    return masks[0] if len(masks) == 1 and masks[0].ndim == 2 else None


def _has_flag(call: ast.Call) -> bool:
    """Return whether the text of a call itself says `is_causal=True`."""
    return bool(get_called_name(call)) and any(
        word.arg == "is_causal"
        and isinstance(word.value, ast.Constant)
        and word.value.value is True
        for word in call.keywords
    )


def _find_symmetric_maker(scene: HazardContext, mask: Fact) -> Op | None:
    """Return the call that makes a mask symmetric, if nothing makes it a triangle."""
    waiting, met = [mask], set[int]()
    symmetric, has_sign = None, False
    while waiting and len(met) < FARTHEST:
        maker = scene.program.producers.get(waiting.pop(0).tensor)
        if maker is None or maker.index in met:
            continue
        met.add(maker.index)
        name = maker.name.rpartition(".")[2]
        if name in SYMMETRIC and (name == "abs" or len(maker.inputs) > 1):
            symmetric = maker
            continue  # what lies before is two orders of one sequence
        has_sign |= name in SIGNED and len(maker.inputs) > 1
        if name in OF_FUTURE:
            return None
        waiting += maker.inputs
    return None if has_sign else symmetric
