"""Find covariances of features that are centred over the features of each sample.

A product of rows with each other is right of any centring: that is a similarity. So the
samples must be what the product sums over, and the features what the mean was over.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import QUOTIENTS, find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    find_reduced_dims,
    parse_equation,
)
from shapewright.findings.codes import CENTRED_AXIS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

MATRIX_PRODUCTS = frozenset({"matmul", "mm", "@", "__matmul__", "__rmatmul__"})
TRANSPOSES = operators_with("transposes_dims") | {"t", "T", "mT", "adjoint"}
DIFFERENCES = operators_with("subtracts")
FARTHEST = 4


@looks_for(CENTRED_AXIS)
def find_other_centring(scene: HazardContext) -> Iterator[Finding]:
    """Find `c.t() @ c` of features from which the mean of each sample was taken."""
    seen: set[object] = set()
    for call in scene.calls:
        yield from _find_maps_of_other_centring(scene, call, seen)
        left = _find_samples(scene, call)
        if left is None:
            continue
        mean = _find_mean_of_rows(scene, left)
        if mean is None or not left.requires_grad or mean.op.span in seen:
            continue
        if not scene.is_batch(scene.flow.of(mean.op.inputs[0])[0]):
            continue
        seen.add(mean.op.span)
        rows, features = left.shape
        message = (
            f"a covariance of {features} features takes the mean of each over the"
            f" {rows} samples, dim 0; this is the mean over the features of each sample"
        )
        words = "the product sums over the samples"
        yield scene.finding(CENTRED_AXIS, mean.op, message, (call.op, words))


def _find_maps_of_other_centring(
    scene: HazardContext, call: OperatorCall, seen: set[object]
) -> Iterator[Finding]:
    """Yield the finding for `c @ c.mT / n` of maps (N, C, n), each channel of which has
    the mean of all channels taken from it.
    """
    if call.name not in MATRIX_PRODUCTS | {"bmm"} or len(call.op.inputs) != 2:
        return
    (left, is_turned), (right, is_right_turned) = (
        _find_untransposed(scene, fact) for fact in call.op.inputs
    )
    if left.tensor != right.tensor or is_turned == is_right_turned or left.ndim != 3:
        return
    samples, features = (-2, -1) if is_turned else (-1, -2)
    count = left.shape[samples]
    is_covariance = any(
        user.name in QUOTIENTS and user.given(1) in (count, count - 1)
        for out in call.op.outputs
        for user in scene.users.get(out.tensor, ())
    )
    mean = _find_mean(scene, left, 3 + features) if is_covariance else None
    if mean is None or not left.requires_grad or mean.op.span in seen:
        return
    seen.add(mean.op.span)
    message = (
        f"a covariance of {left.shape[features]} features takes the mean of each over"
        f" the {count} samples, dim {3 + samples}; this is the mean over the features"
    )
    words = "the product sums over the samples"
    yield scene.finding(CENTRED_AXIS, mean.op, message, (call.op, words))


def _find_samples(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the matrix of which a product with itself sums over the rows, or None."""
    if len(call.op.inputs) != 2:
        return None
    if call.name == "einsum":
        first, second = call.op.inputs
        equation = parse_equation(call)
        if equation is None or equation[1] is None or first.tensor != second.tensor:
            return None
        terms, out = equation[0], equation[1]
        rows = all(len(term) == 2 for term in terms) and terms[0][0] == terms[1][0]
        return first if rows and sorted(out) == sorted(t[1] for t in terms) else None
    if call.name not in MATRIX_PRODUCTS:
        return None
    (left, is_turned), (right, is_right_turned) = (
        _find_untransposed(scene, fact) for fact in call.op.inputs
    )
    same = left.tensor == right.tensor and is_turned and not is_right_turned
    return left if same else None


def _find_untransposed(scene: HazardContext, fact: Fact) -> tuple[Fact, bool]:
    """Return the matrix that a tensor is, or the transpose of, and whether it is."""
    is_turned = False
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or call.name not in TRANSPOSES or len(call.op.inputs) != 1:
            break
        fact, is_turned = call.op.inputs[0], not is_turned
    return fact, is_turned


def _find_mean_of_rows(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the mean over dim 1 that was taken from a matrix, or None."""
    return _find_mean(scene, fact, 1) if fact.ndim == 2 else None


def _find_mean(scene: HazardContext, fact: Fact, at: int) -> OperatorCall | None:
    """Return the mean over one dim that was taken from a tensor, or None."""
    call = scene.maker(fact)
    if call is None or call.name not in DIFFERENCES or len(call.op.inputs) != 2:
        return None
    for whole, part in (call.op.inputs, call.op.inputs[::-1]):
        mean = scene.maker(find_base(scene, part, {"[]"}))
        reduction = "mean"
        if mean is not None and mean.name in QUOTIENTS and len(mean.op.inputs) == 1:
            is_count = mean.given(1) == whole.shape[at]
            mean = scene.maker(mean.op.inputs[0]) if is_count else None
            reduction = "sum"
        if mean is None or mean.name != reduction or whole.shape != fact.shape:
            continue
        if mean.op.inputs[0].tensor != whole.tensor:
            continue
        gone = find_reduced_dims(mean)
        maker = scene.maker(whole)
        is_centred = maker is not None and (
            maker.name in DIFFERENCES or maker.name == "batch_norm"
        )
        if gone is not None and list(gone) == [at] and not is_centred:
            return mean
    return None
