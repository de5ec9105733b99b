"""Find `squeeze()` that drops the batch, and weights applied along the wrong axis."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.hazards.action_values import find_gathered_columns
from shapewright.analysis.hazards.batch_norms import find_batch_norms
from shapewright.analysis.hazards.class_labels import find_classes_along_batch
from shapewright.analysis.hazards.compared_norms import find_compared_norms
from shapewright.analysis.hazards.context import HazardContext, describe_axis
from shapewright.analysis.hazards.decided_dims import find_decided_dims
from shapewright.analysis.hazards.hinged_distances import find_hinged_distances
from shapewright.analysis.hazards.index_dims import find_index_dims
from shapewright.analysis.hazards.layer_norms import find_layer_norms, find_step_norms
from shapewright.analysis.hazards.rotated_axes import find_rotated_axes
from shapewright.analysis.hazards.routed_weights import is_routed
from shapewright.analysis.hazards.unkept_dims import (
    find_column_statistics,
    find_unkept_dims,
)
from shapewright.analysis.hazards.weighted_features import find_summed_features
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axes import Dim, Dims
from shapewright.analysis.provenance.axis_flow import OperatorCall, get_length
from shapewright.analysis.provenance.layer_axes import (
    PRODUCTS,
    find_contraction,
    find_reduced_dims,
    find_softmax_dim,
)
from shapewright.findings.codes import (
    BATCH_AXIS,
    LOST_BATCH,
    WRONG_AXIS,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import is_starred

JOINS = operators_with("concatenates")


@looks_for(LOST_BATCH)
def find_lost_batches(scene: HazardContext) -> Iterator[Finding]:
    """Find `squeeze()` on a tensor whose batch dim, or another dim, has size 1."""
    if not scene.model or scene.batch is None:
        return
    places: dict[object, int] = {}  # where the batch is at a line, in other calls
    samples = {id(axis) for axis in scene.flow.samples.values()}
    lost: list[Finding] = []
    for call in scene.calls:
        if call.name not in ("squeeze", "squeeze_") or call.given(1, "dim") is not None:
            continue
        if call.op.span is None or len(call.op.inputs) != 1:
            continue
        dims = call.dims[0]
        at = next((d for d, dim in enumerate(dims) if scene.is_batch(dim)), None)
        if at is None:
            at = _find_samples(dims, samples)
        if at is None and call.op.span in places:
            known = places[call.op.span]
            at = known if known < len(dims) and get_length(dims[known]) == 1 else None
        elif at is not None:
            places[call.op.span] = at
        ones = [d for d, dim in enumerate(dims) if get_length(dim) == 1 and d != at]
        if at is None or not (ones or get_length(dims[at]) == 1):
            continue
        lost.append(_report_squeeze(scene, call, at, ones))
    sure = {finding.span for finding in lost if finding.severity == "warning"}
    yield from (f for f in lost if f.severity == "warning" or f.span not in sure)


def _find_samples(dims: Dims, samples: set[int]) -> int | None:
    """Return the dim that counts the samples of a batch of another size, or None."""
    for at, dim in enumerate(dims):
        if len(dim) == 1 and id(dim[0].root) in samples:
            return at
    return None


def _report_squeeze(
    scene: HazardContext, call: OperatorCall, at: int, ones: list[int]
) -> Finding:
    op = call.op
    before, after = format_shape(op.inputs[0]), format_shape(op.outputs[0])
    lost = op.inputs[0].shape[at] == 1
    name = scene.names(op)[0].rsplit(" (", 1)[0]
    if lost:
        message = f"`squeeze()` of {name} {before} also removes the batch dim: {after}"
    else:
        message = (
            f"`squeeze()` of {name} {before} also removes the batch dim when the "
            "batch has one sample"
        )
    instead = f"`squeeze({ones[-1] - len(call.dims[0])})`" if ones else "`squeeze(dim)`"
    return scene.finding(
        LOST_BATCH,
        op,
        message,
        (op, f"dim {at} is the batch; {instead} names the intended dim"),
        severity="warning" if lost else "note",
    )


@looks_for(WRONG_AXIS)
def find_wrong_axes(scene: HazardContext) -> Iterator[Finding]:
    """Find softmax over queries, over the batch, or over an axis that is never
    summed.
    """
    yield from find_gathered_columns(scene)
    yield from _find_softmax_of_one(scene)
    yield from _find_dims_of_samples(scene)
    yield from _find_default_dims(scene)
    yield from find_classes_along_batch(scene)
    yield from find_unkept_dims(scene)
    yield from find_column_statistics(scene)
    yield from find_compared_norms(scene)
    yield from find_batch_norms(scene)
    yield from find_index_dims(scene)
    yield from find_hinged_distances(scene)
    yield from find_decided_dims(scene)
    yield from find_layer_norms(scene)
    yield from find_step_norms(scene)
    yield from find_rotated_axes(scene)
    yield from find_summed_features(scene)
    by_index = {call.op.index: call for call in scene.calls}
    reported: set[int] = set()
    for call in scene.calls if scene.flow.weights else ():
        for summed, weights, values in _iter_weighted_sums(scene, call):
            at = _find_misused_softmax(scene, by_index, summed, weights, values)
            if at is not None and at not in reported and at in by_index:
                reported.add(at)
                if is_routed(scene, by_index[at]):
                    continue
                yield _report_softmax(scene, by_index[at], call, summed)


UNSAID = operators_with("normalizes_along_dim")
DEFAULTS = {"cosine_similarity": 2, "normalize": 2}
"""Functions that run along dim 1 where no `dim` is written: the place of `dim`."""


def _find_default_dims(scene: HazardContext) -> Iterator[Finding]:
    """Find calls that compare or normalise along dim 1 by default, with the vectors in
    the last dim.

    Example: ``F.cosine_similarity(a, v)`` of two (batch, frames, features).
    """
    for call in scene.calls:
        if call.name in UNSAID and call.given(1, "dim") is None and call.dims:
            shape = format_shape(call.op.inputs[0])
            at = find_softmax_dim(call)
            message = (
                f"{scene.operation(call.op)} of {shape} runs along dim {at}: without"
                " `dim` torch chooses one, and warns that it will not do so for long"
            )
            if at is not None and not scene.is_batch(call.dims[0][at]):
                yield scene.finding(WRONG_AXIS, call.op, message)
        if call.name not in DEFAULTS or not call.dims or len(call.dims[0]) < 3:
            continue
        dims = call.dims[0]
        parts = _find_normalised_parts(call)
        if parts is not None:
            last = len(dims) - 1
            message = (
                f"{scene.operation(call.op)} of {format_shape(call.op.inputs[0])} runs"
                f" along dim {parts}, the {get_length(dims[parts])} tensors that were"
                f" stacked; the features are in dim {last}"
            )
            yield scene.finding(WRONG_AXIS, call.op, message)
            continue
        if not _is_data_dim(dims[1]) or dims[-1][0].kind != "feature":
            continue
        if _has_default_dim(scene, call, DEFAULTS[call.name]):
            shape, last = format_shape(call.op.inputs[0]), len(dims) - 1
            message = (
                f"{scene.operation(call.op)} of {shape} runs along dim 1, by default;"
                f" the features are in dim {last}"
            )
            yield scene.finding(WRONG_AXIS, call.op, message)


def _find_normalised_parts(call: OperatorCall) -> int | None:
    """Return the dim of a vector norm if it counts stacked tensors, such as two views
    of a sample, and the features have another dim; else None.
    """
    dims, at = call.dims[0], call.given(2, "dim", default=1)
    if call.name != "normalize" or type(at) is not int:
        return None
    at %= len(dims)
    alone = len(dims[at]) == 1 and dims[at][0].kind == "parts"
    features = dims[-1][0].kind == "feature" and at != len(dims) - 1
    return at if alone and features and get_length(dims[at]) > 1 else None


def _has_default_dim(scene: HazardContext, call: OperatorCall, place: int) -> bool:
    """Return whether the program's text calls a function without a `dim` argument."""
    text_and_call = scene.program.call_at(call.op.span)
    if text_and_call is None or scene.program.layer(call.op) is not None:
        return False
    node = text_and_call[1]
    keywords = {keyword.arg for keyword in node.keywords}
    return len(node.args) <= place and not is_starred(node) and "dim" not in keywords


def _is_data_dim(dim: Dim) -> bool:
    """Return whether a dim counts steps or positions of the program's input."""
    return len(dim) == 1 and dim[0].data and dim[0].kind in ("input", "changed")


def _find_softmax_of_one(scene: HazardContext) -> Iterator[Finding]:
    """Find softmax along a dim of size 1, where every weight is 1."""
    for call in scene.calls:
        if call.name not in ("softmax", "softmin") or not call.dims:
            continue
        at, fact = find_softmax_dim(call), call.op.inputs[0]
        if at is None or len(fact.shape) < 2 or fact.shape[at] != 1:
            continue
        origin = trace_dim(scene.program, fact, at)
        own = call.dims[0][at]
        if origin.why == "parameter" or all(
            axis.kind == "one" and not axis.data and not axis.root.data for axis in own
        ):
            shape = format_shape(fact)
            message = (
                f"{scene.operation(call.op)} of {shape} runs along dim {at}, which has"
                " size 1: every weight is 1"
            )
            maker = origin.op or (origin.steps[-1].op if origin.steps else None)
            why = f"{format_shape(fact)} has one value along dim {at}, by its layer"
            yield scene.finding(WRONG_AXIS, call.op, message, (maker, why))


def _find_dims_of_samples(scene: HazardContext) -> Iterator[Finding]:
    """Find a softmax layer along dim 0 that gets one sample without a batch, whose
    values it normalises, and batches as well, of which it normalises each column.
    """
    alone: dict[str, int] = {}
    for call in scene.calls:
        layer = scene.program.layer(call.op)
        if layer is None or call.name not in UNSAID or not call.op.inputs:
            continue
        shape = call.op.inputs[0].shape
        if find_softmax_dim(call) == 0 and len(shape) == 1:
            alone[layer.path] = shape[0]
    seen: set[str] = set()
    for call in scene.calls if alone else ():
        layer = scene.program.layer(call.op)
        if layer is None or layer.path not in alone or layer.path in seen:
            continue
        shape = call.op.inputs[0].shape
        if len(shape) != 2 or shape[1] != alone[layer.path] or shape[0] < 2:
            continue
        if find_softmax_dim(call) != 0:
            continue  # counted from the end
        seen.add(layer.path)
        message = (
            f"{scene.operation(call.op)} of {format_shape(call.op.inputs[0])} runs"
            f" along dim 0: of one sample ({shape[1]},) these are its values, and here"
            f" they are the {shape[0]} samples; `dim=-1` is right for both"
        )
        yield scene.finding(WRONG_AXIS, call.op, message)


def _iter_weighted_sums(
    scene: HazardContext, call: OperatorCall
) -> Iterator[tuple[Dim, Dims, Dims]]:
    """Yield weighted sums as (summed dim of the weights, dims of the weights, dims of
    the values).
    """
    contraction = find_contraction(call)
    if contraction is not None and len(call.dims) == 2:
        if len(contraction.left) == 1:
            if not _is_transposed(scene, call, 0):
                yield contraction.left[0], call.dims[0], call.dims[1]
            if not _is_transposed(scene, call, 1):
                yield contraction.right[0], call.dims[1], call.dims[0]
        return
    if call.name in ("*", "mul", "multiply") and len(call.dims) == 2:
        for user in scene.users.get(call.op.outputs[0].tensor, ()):
            if user.name != "sum" or len(user.dims) != 1:
                continue
            gone = find_reduced_dims(user)
            if gone is None or len(gone) != 1:
                continue
            back = gone[0] - len(call.shape)
            for weights, values in (call.dims, call.dims[::-1]):
                if -back <= len(weights) and -back <= len(values):
                    yield weights[back], weights, values


def _is_transposed(scene: HazardContext, call: OperatorCall, at: int) -> bool:
    """Return whether a matrix was explicitly transposed for the product: `soft.T @
    x`.
    """
    fact = call.op.inputs[at]
    maker = scene.maker(fact)
    return len(fact.shape) == 2 and maker is not None and maker.name in TURNING


TURNING = operators_with("transposes_dims")


def _find_misused_softmax(
    scene: HazardContext,
    calls: dict[int, OperatorCall],
    summed: Dim,
    weights: Dims,
    values: Dims,
) -> int | None:
    """Return the softmax whose weights are summed along an axis other than its own, or
    None.
    """
    if is_marked(summed) or any(map(is_marked, values)):
        return None
    if get_length(summed) == 1 or not any(axis.data for axis in summed):
        return None
    for dim in weights:
        axis = dim[0]
        if len(dim) != 1 or axis.softmax is None or axis.size < 2:
            continue
        if axis.data or _is_over_heads(scene, calls.get(axis.softmax)):
            return axis.softmax
        return None
    return None


def _is_over_heads(scene: HazardContext, call: OperatorCall | None) -> bool:
    """Return whether a softmax of scores runs over the heads, and not over queries or
    keys.
    """
    if call is None:
        return False
    at, fact = find_softmax_dim(call), call.op.inputs[0]
    for _ in range(MIXING_STEPS):
        maker = scene.maker(fact)
        if maker is None or not maker.dims:
            return False
        if maker.name in PRODUCTS and len(maker.dims) == 2:
            ranks = {len(dims) for dims in maker.dims}
            states = any(f.tensor in scene.program.states for f in maker.op.inputs)
            return (
                ranks == {len(call.shape)}
                and at in range(max(ranks) - 2)
                and (not states)
            )
        if len(maker.shape) != len(call.shape):
            return False
        fact = maker.op.inputs[0]
    return False


MIXING_STEPS = 6
"""Ops between the product of queries and keys and its softmax."""


def is_marked(dim: Dim) -> bool:
    """Return whether a dim is marked as one along which weights sum to 1."""
    return any(axis.softmax is not None for axis in dim)


def _report_softmax(
    scene: HazardContext, call: OperatorCall, use: OperatorCall, summed: Dim
) -> Finding:
    at = find_softmax_dim(call) or 0
    rank = len(call.shape)
    own = call.dims[0][at]
    code = BATCH_AXIS if scene.is_batch(own) else WRONG_AXIS
    root = summed[0].root if summed else None
    others = [
        d
        for d, dim in enumerate(call.dims[0])
        if d != at and root is not None and any(axis.root is root for axis in dim)
    ]
    along = f"dim {others[0]}" if len(others) == 1 else "another dim"
    message = (
        f"{scene.operation(call.op)} of {format_shape(call.op.inputs[0])} makes weights"
        f" that sum to one along dim {at}, but the weighted sum runs along {along}"
    )
    which = f"dim {at} of {rank}"
    where = describe_axis(own[0]) if len(own) == 1 else ""
    label = f"{which} is {where}" if where else f"{which} is normalised here"
    size = get_length(summed)
    return scene.finding(
        code,
        call.op,
        message,
        (call.op, label),
        (use.op, f"the {size} weights that are summed here do not sum to one"),
    )
