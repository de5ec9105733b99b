"""Find `(B, C, H, W)` flattened to rows of C classes while the classes are in dim 1."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import VIEW_MIXES_DIMS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

CLASS_LOSSES = operators_with("takes_class_indices")
REGROUPING = operators_with("regroups_dims")
KEEPING = (
    operators_with("computes_each_element", "drops_elements")
    | {"log_softmax", "softmax"}
    | {"interpolate", "batch_norm"}
    | {"contiguous", "gelu"}
) - REGROUPING
"""Calls after a convolution whose result has the same channels in dim 1."""
CONVOLVING = operators_with("is_convolution", "is_transposed_convolution")
FARTHEST = 8


def find_flattened_channels(scene: HazardContext) -> Iterator[Finding]:
    """Find rows of a loss over classes that hold pixels of one class."""
    for call in scene.calls:
        if call.name not in CLASS_LOSSES or len(call.op.inputs) < 2:
            continue
        view = _find_view(scene, call.op.inputs[0])
        if view is None or view.op.span is None:
            continue
        before, after = view.op.inputs[0], view.op.outputs[0]
        convolution = _find_convolution(scene, before)
        if convolution is None or not _is_split(before, after):
            continue
        channels = after.shape[1]
        message = (
            f"`{view.name}` of {format_shape(before)} to {format_shape(after)} puts"
            f" neighbouring pixels of one channel into each row: the {channels}"
            " channels are in dim 1, not in the last"
        )
        yield scene.finding(
            VIEW_MIXES_DIMS,
            view.op,
            message,
            (convolution.op, "the channels are made here"),
            (call.op, "each row is read as the scores of one pixel here"),
        )


def _is_split(before: Fact, after: Fact) -> bool:
    """Return whether a view makes rows of as many numbers as dim 1 has channels,
    although the last dim does not hold them.
    """
    if len(before.shape) < 3 or len(after.shape) != 2:
        return False
    channels, pixels = before.shape[1], before.numel // max(1, after.shape[1])
    inner = before.numel // max(1, before.shape[0] * channels)
    same = after.shape == (pixels, channels)
    return same and channels > 1 and inner > 1


def _find_view(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the view that made the rows of a loss, perhaps before a softmax."""
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or not call.op.inputs or len(fact.shape) != 2:
            return None
        if call.name in REGROUPING:
            return call
        if call.name not in KEEPING:
            return None
        fact = call.op.inputs[0]
    return None


def _find_convolution(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the convolution that made the channels of a tensor in dim 1, or None."""
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None
        if call.name in CONVOLVING:
            return call if len(call.shape) == len(fact.shape) else None
        if call.name not in KEEPING or call.op.inputs[0].shape[:2] != fact.shape[:2]:
            return None
        fact = call.op.inputs[0]
    return None


COPIES = ("contiguous", "clone")


def find_unfolded_patches(scene: HazardContext) -> Iterator[Finding]:
    """Find `x.unfold(2, p, p).unfold(3, p, p).view(b, -1, c * p * p)`, whose rows hold
    several patches of one channel.
    """
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name not in REGROUPING or not op.inputs or op.span in seen:
            continue
        before, after = op.inputs[0].shape, op.outputs[0].shape if op.outputs else ()
        if len(before) != 6 or len(after) != 3 or before[1] < 2:
            continue
        batch, channels, down, across, *sides = before
        count, size = down * across, channels * sides[0] * sides[1]
        if after != (batch, count, size) or count < 2:
            continue
        if not _is_unfolded_twice(scene, op.inputs[0]):
            continue
        seen.add(op.span)
        yield scene.finding(
            VIEW_MIXES_DIMS,
            op,
            f"`{call.name}` of unfolded patches {format_shape(op.inputs[0])} to"
            f" {format_shape(op.outputs[0])} puts patches of one channel into each"
            f" row: the {channels} channels are in dim 1, in front of the patches",
        )


def _is_unfolded_twice(scene: HazardContext, fact: Fact) -> bool:
    """Return whether windows of two dims were cut, and nothing was moved since."""
    count = 0
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            break
        if call.name != "unfold" and call.name not in COPIES:
            break
        count += call.name == "unfold"
        fact = call.op.inputs[0]
    return count == 2
