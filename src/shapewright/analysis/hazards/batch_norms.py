"""Find batch norms that a program writes itself with one mean of the whole tensor,
where the factors behind it are one for each channel.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.compared_norms import (
    WrittenNorm,
    describe_dims,
    get_written_norm,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import collect_names
from shapewright.record.ops import Fact

KIND = re.compile(r"batch_?norm|bn_?(\d?d)?$", re.IGNORECASE)
"""Names of classes and functions that normalize a batch."""
PARTS = re.compile(r"(batch|running|moving)_(mean|var|std)|(mean|var)_(batch|bn)")
"""Names of the statistics of a batch norm."""
OTHER_KIND = re.compile(r"layer|instance|group|global|sample", re.IGNORECASE)
STRETCHING = operators_with("stretches_dims")


def find_batch_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find the mean and the deviation of a batch norm that are of all channels."""
    seen: set[object] = {None}
    for call in scene.calls:
        written = find_whole_batch_norm(scene, call)
        scaled = find_channel_factor(scene, call) if written is not None else None
        if written is None or scaled is None or written.spread.op.span in seen:
            continue
        seen.add(written.spread.op.span)
        factor, at = scaled
        dims = tuple(dim for dim in range(written.whole.ndim) if dim != at)
        message = (
            f"`{written.mean.name}` and `{written.spread.name}` of"
            f" {scene.names(written.mean.op)[0]} are taken along all dims, and dim {at}"
            f" has a factor for each of its {written.whole.shape[at]} channels: a batch"
            f" norm takes them along {describe_dims(dims)}, for each channel"
        )
        yield scene.finding(
            WRONG_AXIS,
            written.mean.op,
            message,
            (written.spread.op, f"`{written.spread.name}` is taken here"),
            (factor.op, "the factors are one for each channel"),
        )


def find_whole_batch_norm(
    scene: HazardContext, call: OperatorCall
) -> WrittenNorm | None:
    """Return the parts of a quotient that the program calls a batch norm, and that
    standardizes samples by one mean and one deviation of all their elements, or None.
    """
    written = get_written_norm(scene, call)
    if written is None or written.whole.ndim < 2 or written.whole.shape[0] < 2:
        return None
    if not scene.is_batch(scene.flow.of(written.whole)[0]):
        return None
    for statistic in (written.mean, written.spread):
        gone = find_reduced_dims(statistic)
        if gone is None or 0 < len(gone) < written.whole.ndim:
            return None
    return written if _is_batch_norm(scene, written) else None


def _is_batch_norm(scene: HazardContext, written: WrittenNorm) -> bool:
    """Return whether the program calls a normalization one of the batch: by its class,
    by its function or by the names of its mean and its variance.
    """
    op = written.mean.op
    owners = {call.path: call.class_name for call in scene.program.trace.calls}
    names = {owners.get(op.module, ""), *(frame.function for frame in op.frames[-1:])}
    for statistic in (written.mean, written.spread):
        place = scene.program.node(statistic.op.span)
        if place is not None and isinstance(place[1], ast.expr):
            names |= collect_names(place[0].statement_of(place[1]), ast.Store)
    if any(OTHER_KIND.search(name) for name in names):
        return False
    return any(KIND.search(name) or PARTS.fullmatch(name) for name in names)


def find_channel_factor(
    scene: HazardContext, norm: OperatorCall
) -> tuple[OperatorCall, int] | None:
    """Return the call that multiplies what a normalization gave by factors, and the dim
    for each index of which there is one; None if they differ along several dims.
    """
    result = norm.op.outputs[0]
    for user in scene.users.get(result.tensor, ()):
        if user.name not in PRODUCTS or len(user.op.inputs) != 2:
            continue
        others = [fact for fact in user.op.inputs if fact.tensor != result.tensor]
        at = _find_only_dim(scene, others[0], result) if len(others) == 1 else None
        if at is not None:
            return user, at
    return None


def _find_only_dim(scene: HazardContext, factor: Fact, result: Fact) -> int | None:
    """Return the only dim of a batch, but the samples, along which factors differ."""
    for op in iter_first_makers(scene.program, factor):
        if op.name.rpartition(".")[2] not in STRETCHING:
            break
        factor = op.inputs[0]
    first = result.ndim - factor.ndim
    wide = [first + at for at, size in enumerate(factor.shape) if size > 1]
    wide = [dim for dim in wide if dim > 0]
    is_one = len(wide) == 1 and result.shape[wide[0]] > 1
    return wide[0] if is_one else None
