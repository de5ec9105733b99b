"""Find samples of a batch that affect each other: normalised along the batch, scaled by
its extremes, or summed by an `einsum` without an arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.action_values import find_largest_of_batches
from shapewright.analysis.hazards.axis_mistakes import is_marked
from shapewright.analysis.hazards.batch_first import find_counted_samples
from shapewright.analysis.hazards.batch_statistics import find_batch_statistics
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.decided_dims import (
    SOFTMAXES,
    find_loss_of_other_dim,
)
from shapewright.analysis.hazards.loss_terms import PRODUCTS, QUOTIENTS
from shapewright.analysis.hazards.penalty_norms import NORMS
from shapewright.analysis.hazards.summed_batches import find_summed_batches
from shapewright.analysis.hazards.whole_norms import find_whole_norms
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axes import Axis
from shapewright.analysis.provenance.axis_flow import OperatorCall, get_length
from shapewright.analysis.provenance.layer_axes import (
    find_contraction,
    find_einsum_letters,
    find_reduced_dims,
    find_softmax_dim,
    infer_output_letters,
    parse_equation,
)
from shapewright.findings.codes import (
    BATCH_AXIS,
    BATCH_DEPENDENCE,
    looks_for,
)
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.spans import Span
from shapewright.record.ops import Fact

CHOOSING = "topk"
DRAWS = operators_with("is_random")
COMPARABLE = operators_with("subtracts") | {"abs", "clone"}
NORMALISERS = operators_with("normalizes_along_dim") | {"gumbel_softmax"}

RUNNING = operators_with("accumulates")
REDUCING = frozenset({"mean", "sum", "amax"})
LAYERS = operators_with("gives_logits")


@looks_for(BATCH_AXIS)
def find_batch_axes(scene: HazardContext) -> Iterator[Finding]:
    """Find softmax, `normalize`, running sums and einsums over the batch dim."""
    yield from find_largest_of_batches(scene)
    if not scene.model:
        return
    yield from find_counted_samples(scene)
    layers: dict[str, Span] = {}
    for call in scene.calls:
        if call.name in RUNNING and call.op.span is not None:
            along = call.given(1, "dim")
            if isinstance(along, int) and _is_batch_cumsum(scene, call, along):
                yield _report_batch_axis(scene, call, along % len(call.dims[0]))
        if call.name == "einsum" and call.op.span is not None and scene.sure:
            letter = _find_summed_letter(scene, call)
            if letter is not None:
                yield _report_einsum(scene, call, letter)
        if call.name in REDUCING and _has_merged_samples(scene, call):
            yield _report_merged(scene, call)
        if call.name in QUOTIENTS and call.op.span is not None:
            norm = _find_norm(scene, call)
            at = None if norm is None else _find_norm_dim(norm)
            if norm is not None and at is not None:
                competing = _has_competing_samples(scene, norm, at)
                if competing and not _is_summed_over_batch(scene, call):
                    yield _report_batch_axis(scene, norm, at)
        if call.name in NORMALISERS and call.op.span is not None:
            at = _find_normalised_dim(call)
            layer = scene.program.layer(call.op)
            if at is None or not _has_competing_samples(scene, call, at):
                continue
            path = layer.path if layer is not None else ""
            if not path or layers.setdefault(path, call.op.span) == call.op.span:
                yield _report_batch_axis(scene, call, at)


def _find_norm(scene: HazardContext, call: OperatorCall) -> OperatorCall | None:
    """Return the norm of what a call divides by it, or None."""
    if len(call.op.inputs) != 2 or not call.op.inputs[1].shape:
        return None
    for op in iter_first_makers(scene.program, call.op.inputs[1], STEPS):
        norm = scene.call(op)
        if norm.name in NORMS:
            same = norm.op.inputs[0].tensor == call.op.inputs[0].tensor
            return norm if same else None
        if norm.name not in KEEPING:
            return None
    return None


def _find_norm_dim(norm: OperatorCall) -> int | None:
    """Return the dim along which a norm runs that keeps it."""
    gone = find_reduced_dims(norm)
    kept = len(norm.shape) == len(norm.dims[0])
    return gone[0] if gone is not None and len(gone) == 1 and kept else None


def _is_summed_over_batch(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a product sums what follows from a call over the samples, as a
    correlation of features does.
    """
    waiting, met = [call.op.outputs[0]], set[int]()
    while waiting and len(met) < FARTHEST:
        for user in scene.users.get(waiting.pop().tensor, ()):
            if user.op.index in met:
                continue
            met.add(user.op.index)
            contraction = find_contraction(user)
            if contraction is not None and any(
                map(scene.has_batch, (*contraction.left, *contraction.right))
            ):
                return True
            waiting += user.op.outputs
    return False


KEEPING = operators_with("clamps", "adds_terms") | {"clamp_min", "+", "add"}
"""What keeps a norm away from zero."""
FARTHEST = 12
"""Calls behind a normalised tensor that are looked at."""


def _has_merged_samples(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the features of all samples of a loader's batch are reduced to
    one before a layer.
    """
    if not scene.program.batches or not call.dims or len(call.dims[0]) < 2:
        return False
    dims, gone = call.dims[0], find_reduced_dims(call)
    if gone is None or list(gone) != [0] or not scene.is_batch(dims[0]):
        return False
    if get_length(dims[0]) < 2 or not call.op.module or call.op.span is None:
        return False
    fact = call.op.outputs[0]
    for _ in range(LAYERS_AWAY):
        users = scene.users.get(fact.tensor, [])
        if any(
            user.name in LAYERS and user.op.inputs[0].tensor == fact.tensor
            for user in users
        ):
            return any(axis.kind == "feature" for dim in dims for axis in dim)
        if len(users) != 1 or not users[0].op.outputs or len(users[0].op.inputs) != 1:
            return False
        fact = users[0].op.outputs[0]
    return False


LAYERS_AWAY = 4
"""Calls between a reduction and the layer that gets its result."""


def _report_merged(scene: HazardContext, call: OperatorCall) -> Finding:
    shape, out = format_shape(call.op.inputs[0]), format_shape(call.op.outputs[0])
    message = (
        f"{scene.operation(call.op)} of {shape} runs along dim 0, the batch: its"
        f" {get_length(call.dims[0][0])} samples become one {out}"
    )
    return scene.finding(BATCH_AXIS, call.op, message)


def _find_summed_letter(scene: HazardContext, call: OperatorCall) -> str | None:
    """Return the letter of the batch if an einsum with a layer's weights sums over it,
    or None.
    """
    states = scene.program.states
    equation, letters = parse_equation(call), find_einsum_letters(call)
    if equation is None or letters is None or equation[1] is None:
        return None  # without an arrow `einsum-reduction` tells it
    if not any(f.tensor in states and len(f.shape) > 1 for f in call.op.inputs):
        return None
    kept = infer_output_letters(*equation)
    for letter, dim in letters.items():
        if letter not in kept and scene.is_batch(dim) and get_length(dim) > 1:
            return letter if kept else None
    return None


def _report_einsum(scene: HazardContext, call: OperatorCall, letter: str) -> Finding:
    message = (
        f"{scene.operation(call.op)} sums over `{letter}`, the batch: all samples get"
        f" one {format_shape(call.op.outputs[0])}"
    )
    why = f"`{letter}` is before the arrow but not after it"
    return scene.finding(BATCH_AXIS, call.op, message, (call.op, why))


def _is_batch_cumsum(scene: HazardContext, call: OperatorCall, at: int) -> bool:
    """Return whether a cumulative sum runs over the samples."""
    dims, maker = call.dims[0], scene.maker(call.op.inputs[0])
    if len(dims) < 2 or not scene.is_batch(dims[at]) or get_length(dims[at]) < 2:
        return False
    if maker is not None and maker.name in DRAWS:
        return False  # a random walk: steps that follow each other
    of_layer = len(dims) == 2 and any(map(_is_of_features, dims[1 - at % 2]))
    return scene.sure or (of_layer and bool(scene.program.batches))


def _find_normalised_dim(call: OperatorCall) -> int | None:
    """Return the dim along which a call normalises."""
    if call.name in ("normalize", "gumbel_softmax"):
        place, default = (2, 1) if call.name == "normalize" else (4, -1)
        at = call.given(place, "dim", default=default)
        return at % len(call.dims[0]) if isinstance(at, int) else None
    return find_softmax_dim(call)


def _has_competing_samples(scene: HazardContext, call: OperatorCall, at: int) -> bool:
    """Return whether samples compete that should not compete, as far as the run
    shows.
    """
    dims = call.dims[0]
    if len(dims) < 2 or not scene.is_batch(dims[at]):
        return False
    if get_length(dims[at]) < 2 and not (call.name in SOFTMAXES and scene.sure):
        return False  # a layer says that this is the batch, of one sample here
    if call.op.inputs[0].tensor in scene.program.states:
        return False
    for op in iter_first_makers(scene.program, call.op.inputs[0], STEPS):
        maker = scene.call(op)
        along = maker.given(2, "dim", default=-1)
        if maker.name == CHOOSING and along in (at, at - len(dims)):
            return False  # of many candidates those that are nearest
    others = [
        dim for place, dim in enumerate(dims) if place != at and get_length(dim) > 1
    ]
    if not others or any(scene.has_batch(dim) for dim in others):
        return False  # all samples have one score, or each is compared with each
    if not any(_is_of_features(axis) for dim in others for axis in dim):
        return find_loss_of_other_dim(scene, call) is not None
    return not _is_used_along(scene, call) and not _is_one_of_two(scene, call)


def _is_one_of_two(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a softmax is multiplied by one along another dim: regions compete
    for a class, and classes for a region.
    """
    at = _find_normalised_dim(call)
    out = call.op.outputs[0].tensor
    for user in scene.users.get(out, ()):
        others = [fact for fact in user.op.inputs if fact.tensor != out]
        for maker in map(scene.maker, others if user.name in PRODUCTS else ()):
            if maker is not None and maker.name in SOFTMAXES:
                return _find_normalised_dim(maker) != at
    return False


def _is_of_features(axis: Axis) -> bool:
    """Return whether an axis counts features of a layer, or a part of them."""
    return axis.kind in ("feature", "part") or (
        axis.kind == "changed" and not axis.data
    )


def _is_used_along(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the result is summed or selected from along the same axis, as in
    pooling.
    """
    if call.name not in ("softmax", "gumbel_softmax"):
        return False
    index = call.op.index
    for user in scene.calls:
        if user.op.index <= index:
            continue
        contraction = find_contraction(user)
        gone = (
            (*contraction.left, *contraction.right) if contraction is not None else ()
        )
        adds = user.name in ("sum", "mean")
        if (adds or user.name in ("topk", "sort")) and user.dims:
            dims = user.dims[0]
            at = find_reduced_dims(user) if adds else None
            gone = tuple(dims[d] for d in at) if at is not None else dims
        if any(is_marked(dim) and dim[0].softmax == index for dim in gone):
            return True
    return False


def _report_batch_axis(scene: HazardContext, call: OperatorCall, at: int) -> Finding:
    batch = scene.batch
    assert batch is not None
    shape = format_shape(call.op.inputs[0])
    samples = get_length(call.dims[0][at])
    effect = f"its {samples} samples share what each should have"
    if samples == 1:
        number = 0 if call.name.startswith("log") else 1
        effect = f"of one sample, every result is {number}"
    message = (
        f"{scene.operation(call.op)} of {shape} runs along dim {at}, the batch:"
        f" {effect}"
    )
    softmax = call.name in NORMALISERS and call.name != "normalize"
    chosen = softmax and call.given(1, "dim") is None
    why = f"dim {at} is {batch.words}" if batch.words else f"dim {at} is the batch"
    if chosen:
        why += "; without `dim`, torch uses dim 0 of a tensor with 3 dims"
    finding = scene.finding(BATCH_AXIS, call.op, message, (call.op, why))
    layer = scene.program.layer(call.op)
    built = scene.program.built.get(layer.path) if layer is not None else None
    if layer is None or built is None or built.span is None:
        return finding
    place = Related(built.span, f"`{layer.path}` is built here")
    return replace(finding, related=(*finding.related, place))


EXTREMES = operators_with("finds_extremes")
ROUNDING = operators_with("rounds")
STEPS = 6
"""Calls between an extreme and the division."""


@looks_for(BATCH_DEPENDENCE)
def find_batch_dependences(scene: HazardContext) -> Iterator[Finding]:
    """Find per-sample maps divided by an extreme over all samples."""
    yield from find_summed_batches(scene)
    yield from find_batch_statistics(scene)
    yield from find_whole_norms(scene)
    if not scene.model or scene.batch is None:
        return
    for call in scene.calls:
        if call.name not in ("/", "div", "true_divide") or len(call.dims) != 2:
            continue
        if call.op.span is None or not _is_per_sample(scene, call):
            continue
        extreme = _find_extreme(scene, call)
        if extreme is not None and not _is_rounded(scene, call):
            yield _report_batch_dependence(scene, call, extreme)


def _is_per_sample(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a tensor with a batch dim is divided by a single number."""
    dims, by = call.dims
    batch = [dim for dim in dims if scene.is_batch(dim) and get_length(dim) > 1]
    data = [
        dim for dim in dims if any(axis.data for axis in dim) and get_length(dim) > 1
    ]
    rows_are_samples = bool(call.op.module and scene.program.batches)
    ranks = 2 if rows_are_samples else 3  # else they may be points of one sample
    several = len(data) > 1 or (
        rows_are_samples and sum(get_length(dim) > 1 for dim in dims) > 1
    )
    return not by and bool(batch) and several and len(dims) >= ranks


def _find_extreme(scene: HazardContext, call: OperatorCall) -> OperatorCall | None:
    """Return the extreme in a divisor that was taken over the dividend."""
    numerator = _collect_ancestors(scene, call.op.inputs[0])
    waiting, steps = [call.op.inputs[1]], 0
    while waiting and steps < STEPS:
        steps += 1
        maker = scene.maker(waiting.pop())
        if maker is None or not maker.op.inputs:
            continue
        if maker.name in EXTREMES and maker.dims[0]:
            gone = find_reduced_dims(maker)
            whole = gone is not None and len(gone) == len(maker.dims[0])
            if whole and maker.op.inputs[0].tensor in numerator:
                return maker
            if whole and _is_magnitude(scene, maker.op.inputs[0], numerator):
                return maker
            continue
        waiting += [fact for fact in maker.op.inputs if not fact.shape]
    return None


def _is_magnitude(scene: HazardContext, fact: Fact, numerator: set[int]) -> bool:
    """Return whether a tensor is `x.abs()` of one of these tensors."""
    maker = scene.maker(fact)
    return (
        maker is not None
        and maker.name == "abs"
        and maker.op.inputs[0].tensor in numerator
    )


def _collect_ancestors(scene: HazardContext, fact: Fact) -> set[int]:
    """Return a tensor, and the tensor that it was made from by a subtraction, `abs` or
    `clone`.
    """
    ancestors = {fact.tensor}
    maker = scene.maker(fact)
    if maker is not None and maker.name in COMPARABLE and maker.dims:
        ancestors.add(maker.op.inputs[0].tensor)
    return ancestors


def _is_rounded(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the result is rounded, as in quantisation with a common scale."""
    fact = call.op.outputs[0]
    for _ in range(3):
        users = scene.users.get(fact.tensor, [])
        if any(user.name in ROUNDING for user in users):
            return True
        if len(users) != 1 or not users[0].op.outputs:
            return False
        fact = users[0].op.outputs[0]
    return False


def _report_batch_dependence(
    scene: HazardContext, call: OperatorCall, reduction: OperatorCall
) -> Finding:
    batch = scene.batch
    assert batch is not None
    whole = format_shape(reduction.op.inputs[0])
    message = (
        f"each of the {batch.size} samples is divided by the `{reduction.name}` of all"
        f" of them, {whole}: the result depends on the rest of the batch"
    )
    return scene.finding(
        BATCH_DEPENDENCE,
        reduction.op,
        message,
        (
            reduction.op,
            f"`{reduction.op.name}` without `dim` reduces the batch as well",
        ),
        (call.op, "every sample is divided here"),
    )
