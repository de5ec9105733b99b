"""Find convolutions along time that pad both sides, where no place may see the later
ones: they are called causal, or are trained to predict the next step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.hazards.context import LOSSES, HazardContext
from shapewright.analysis.hazards.loss_targets import find_unshifted_targets
from shapewright.analysis.hazards.loss_terms import find_ancestors, find_base
from shapewright.analysis.hazards.missing_masks import CLASSES, find_shifted_tokens
from shapewright.analysis.hazards.read_targets import find_read_targets
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import UNSHIFTED_TARGET, looks_for
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact, Op

CAUSAL = re.compile(r"(?<!non)(?<!non_)(?<!a)causal", re.IGNORECASE)
DEEPEST = 4000
"""Calls between the input and the loss of a deep model."""
NEAREST = 2
"""Modules around a layer whose names tell what it is."""


@dataclass(frozen=True, slots=True)
class _Padded:
    """A convolution of which each place reads later ones."""

    call: OperatorCall
    padding: Op
    steps: int
    reach: int


@looks_for(UNSHIFTED_TARGET)
def find_future_steps(scene: HazardContext) -> Iterator[Finding]:
    """Find convolutions along time that read the step which is to be predicted, and
    targets that are not shifted.
    """
    yield from find_unshifted_targets(scene)
    yield from find_read_targets(scene)
    convolutions = list(_iter_padded(scene))
    if not convolutions:
        return
    predicted = list(_iter_predicted(scene))
    seen: set[object] = set()
    for conv in convolutions:
        op = conv.call.op
        loss = next(
            (
                loss
                for loss, steps, ancestors in predicted
                if steps == conv.steps and op.outputs[0].tensor in ancestors
            ),
            None,
        )
        if (loss is None and not _is_called_causal(scene, op)) or op.span in seen:
            continue
        seen.add(op.span)
        later = f"{conv.reach} later ones" if conv.reach > 1 else "a later one"
        why = "and is called causal"
        if loss is not None:
            name = scene.operation(loss.op)
            why = f"and the next one is what {name} asks the model to predict"
        message = (
            f"{scene.operation(op)} has padding on both sides: each place reads"
            f" {later}, {why}"
        )
        related = [(conv.padding, "both sides are padded here")]
        if loss is not None:
            related.append((loss.op, "the targets here are the input, one step later"))
        finding = scene.finding(UNSHIFTED_TARGET, op, message, *related)
        yield replace(finding, span=conv.padding.span)


def _iter_padded(scene: HazardContext) -> Iterator[_Padded]:
    """Yield the convolutions that keep the length and read later places."""
    for call in scene.calls:
        if call.name != "conv1d" or call.op.span is None or len(call.op.inputs) < 2:
            continue
        x, weight = call.op.inputs[:2]
        stride, dilation = (
            _get_number(call, 3, "stride"),
            _get_number(call, 5, "dilation"),
        )
        whole = (weight.shape[-1] - 1) * (dilation or 1)
        setting = call.given(4, "padding", default=0)
        if stride not in (None, 1) or whole == 0:
            continue
        if setting == "same":
            left, right = whole // 2, whole - whole // 2
        else:
            number = _get_number(call, 4, "padding") or 0
            left = right = number
        padding, steps = call.op, x.shape[-1]
        maker = scene.maker(x)
        if maker is not None and maker.name == "pad" and maker.op.span is not None:
            sides = maker.given(1, "pad")
            if not isinstance(sides, tuple | list) or len(sides) < 2:
                continue
            left, right = left + sides[0], right + sides[1]
            padding, steps = maker.op, maker.op.inputs[0].shape[-1]
        keeps = left + right >= whole
        if keeps and right > 0 and left < whole and not _is_cut(scene, call):
            yield _Padded(call, padding, steps, whole - left)


def _get_number(call: OperatorCall, place: int, name: str) -> int | None:
    """Return a setting of a convolution of one dim."""
    value = call.given(place, name)
    if isinstance(value, tuple | list) and len(value) == 1:
        value = value[0]
    return value if type(value) is int else None


def _is_cut(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the first places of a result are left out, or its order turned."""
    for user in scene.users.get(call.op.outputs[0].tensor, ()):
        if user.name in ("flip", "narrow"):
            return True
        items = get_items(user) if user.name == "[]" else ()
        if items and isinstance(items[-1], str) and re.match(r"\d", items[-1]):
            return True
    return False


def _is_called_causal(scene: HazardContext, op: Op) -> bool:
    """Return whether a layer, or a module around it, is called causal, and no argument
    chooses whether it is.
    """
    call = scene.program.call_of(op)
    if call is None:
        return False
    names = [op.module.rpartition(".")[2]]
    for _ in range(NEAREST):
        if call is None or call.parent is None:
            break
        names.append(call.class_name)
        call = scene.program.trace.calls[call.parent]
    names += [call.class_name] if call is not None and len(names) <= NEAREST else []
    return any(CAUSAL.search(name) for name in names) and not _is_choice(scene)


def _is_choice(scene: HazardContext) -> bool:
    """Return whether an argument of the program says if something is causal."""
    return any(
        isinstance(node, ast.arg) and CAUSAL.search(node.arg)
        for text in scene.program.own_texts()
        for node in text.nodes
    )


def _iter_predicted(
    scene: HazardContext,
) -> Iterator[tuple[OperatorCall, int, dict[int, OperatorCall]]]:
    """Yield the losses whose targets are the input of the model one step later, the
    number of steps, and what the predictions follow from.
    """
    seen: set[object] = {None}
    for loss in scene.calls:
        if len(loss.op.inputs) < 2 or loss.op.span in seen:
            continue
        scores, target = loss.op.inputs[:2]
        if loss.name in CLASSES and target.dtype.startswith("int"):
            if target.numel < 2 or scores.numel % target.numel:
                continue
            ancestors = find_ancestors(scene, scores, DEEPEST)
            read = find_shifted_tokens(scene, ancestors, target)
            steps = read.op.inputs[0].shape[-1] if read is not None else 0
        elif loss.name in LOSSES and target.numel > 1 and scores.requires_grad:
            ancestors = find_ancestors(scene, scores, DEEPEST)
            steps = _count_shifted_steps(scene, ancestors, target)
        else:
            continue
        if steps:
            seen.add(loss.op.span)
            yield loss, steps, ancestors


def _count_shifted_steps(
    scene: HazardContext, ancestors: dict[int, OperatorCall], target: Fact
) -> int:
    """Return the number of steps of an input that begins one step before a target in
    the same memory; 0 if there is none.
    """
    targets = [target, find_base(scene, target)]
    for call in ancestors.values():
        for fact in call.op.inputs:
            for other in targets:
                if fact.storage != other.storage or fact.shape != other.shape:
                    continue
                if fact.stride != other.stride or fact.stride is None:
                    continue
                offset = other.storage_offset - fact.storage_offset
                for size, stride in zip(fact.shape[1:], fact.stride[1:], strict=True):
                    if offset == stride and size > 1:
                        return size
    return 0
