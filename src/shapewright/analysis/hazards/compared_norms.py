"""Find normalizations that a program writes itself along other dims than the layer
whose results it compares them with: a batch norm with one mean of the whole tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import DIFFERENCES, PRODUCTS, QUOTIENTS
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

COMPARING = frozenset({"allclose", "isclose"})
MEASURING = operators_with("computes_each_element", "reduces_dims") | {"norm", "max"}
"""Calls that make one number of a difference."""
ELEMENTWISE = operators_with("computes_each_element", "is_arithmetic") | {"relu", "to"}
KEEPING = operators_with("clamps", "adds_terms", "regroups_dims", "moves_dims") | {
    "+",
    "sqrt",
    "rsqrt",
    "**",
    "[]",
}
SPREADS = operators_with("measures_spread")
SQUARES = frozenset({"pow", "square", "**"})
KINDS = re.compile("batch|layer|instance|group", re.I)
STEPS = 6
"""Calls between a normalization and the comparison."""


@dataclass(frozen=True, slots=True)
class WrittenNorm:
    """A normalization in the text of the program: what it is of, and its mean and
    spread.
    """

    whole: Fact
    mean: OperatorCall
    spread: OperatorCall


def find_compared_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find means and spreads along other dims than those of the layer that the result
    is compared with.
    """
    seen: set[object] = {None}
    for op in scene.program.trace.ops:
        if len(op.inputs) != 2 or op.inputs[0].shape != op.inputs[1].shape:
            continue
        if not _is_comparison(scene, op):
            continue
        for at in (0, 1):
            layer = _find_layer(scene, op.inputs[at])
            written = _find_written(scene, op.inputs[1 - at]) if layer else None
            if layer is None or written is None:
                continue
            dims = _get_dims_of_layer(layer)
            wrong = _find_wrong(layer, written, dims)
            if wrong is None or wrong.op.span in seen:
                continue
            if _is_of_another_kind(layer, wrong) or _is_denied(scene, op):
                continue
            seen.add(wrong.op.span)
            kept = {at for at in range(written.whole.ndim) if at not in dims}
            taken = describe_dims(find_reduced_dims(wrong))
            message = (
                f"`{wrong.name}` is taken along {taken} of {scene.names(wrong.op)[0]},"
                f" and `{layer.name}`, with which the result is compared, takes it"
                f" along {describe_dims(dims)}, for each index of"
                f" {describe_dims(tuple(kept))}"
            )
            yield scene.finding(
                WRONG_AXIS,
                wrong.op,
                message,
                (layer.op, f"`{layer.name}` is called here"),
                (op, "both are compared here"),
            )


def _is_comparison(scene: HazardContext, op: Op) -> bool:
    """Return whether a call says whether two tensors are alike, or how far they are
    apart.
    """
    name = op.name.rpartition(".")[2]
    if name in COMPARING:
        return True
    if name not in DIFFERENCES or not op.outputs or op.kind == "inplace":
        return False
    users = scene.users.get(op.outputs[0].tensor, ())
    return bool(users) and all(user.name in MEASURING for user in users)


def _find_layer(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the normalization of torch that a tensor comes of, if its statistics are
    those of the input.
    """
    for op in iter_first_makers(scene.program, fact, STEPS):
        call = scene.call(op)
        if call.name == "batch_norm":
            is_own = call.given(5, "training", default=False) is True
            return call if is_own else None
        if call.name in ("layer_norm", "instance_norm"):
            return call
        if call.name not in ELEMENTWISE or op.outputs[0].shape != fact.shape:
            return None
    return None


def _get_dims_of_layer(layer: OperatorCall) -> tuple[int, ...]:
    """Return the dims along which a layer takes its mean."""
    rank = layer.op.inputs[0].ndim
    if layer.name == "layer_norm":
        sizes = layer.given(1, "normalized_shape")
        count = len(sizes) if isinstance(sizes, tuple | list) else 1
        return tuple(range(rank - count, rank))
    first = () if layer.name == "instance_norm" else (0,)
    return (*first, *range(2, rank))


def _find_written(scene: HazardContext, fact: Fact) -> WrittenNorm | None:
    """Return the normalization that a tensor comes of, in the text of the program."""
    for op in iter_first_makers(scene.program, fact, STEPS):
        call = scene.call(op)
        written = get_written_norm(scene, call)
        if written is not None:
            return written
        if call.name not in ELEMENTWISE or op.outputs[0].shape != fact.shape:
            return None
    return None


def get_written_norm(scene: HazardContext, call: OperatorCall) -> WrittenNorm | None:
    """Return the parts of `(x - x.mean()) / x.std()`, or None."""
    if call.name not in QUOTIENTS | PRODUCTS or len(call.op.inputs) != 2:
        return None
    difference = scene.maker(call.op.inputs[0])
    if difference is None or difference.name not in DIFFERENCES:
        return None
    if len(difference.op.inputs) != 2 or not scene.in_user_code(difference.op):
        return None
    whole = difference.op.inputs[0]
    mean = _find_statistic(scene, difference.op.inputs[1], whole)
    spread = _find_statistic(scene, call.op.inputs[1], whole)
    if mean is None or spread is None or mean.name != "mean":
        return None
    is_spread = spread.name in SPREADS or _is_of_squares(scene, spread)
    return WrittenNorm(whole, mean, spread) if is_spread else None


def _find_statistic(
    scene: HazardContext, fact: Fact, whole: Fact
) -> OperatorCall | None:
    """Return the mean, the deviation or the variance of a tensor that another one is
    made of, or None.
    """
    for op in iter_first_makers(scene.program, fact, STEPS):
        call = scene.call(op)
        if call.name in SPREADS or call.name == "mean":
            of = op.inputs[0].tensor
            is_own = of == whole.tensor or _is_of_squares(scene, call)
            return call if is_own and op.inputs[0].shape == whole.shape else None
        if call.name not in KEEPING:
            return None
    return None


def _is_of_squares(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a mean is one of squares of differences."""
    square = scene.maker(call.op.inputs[0])
    if call.name != "mean" or square is None or square.name not in SQUARES | PRODUCTS:
        return False
    difference = scene.maker(square.op.inputs[0])
    return difference is not None and difference.name in DIFFERENCES


def _find_wrong(
    layer: OperatorCall, written: WrittenNorm, dims: tuple[int, ...]
) -> OperatorCall | None:
    """Return the first of the mean and the spread that is taken along other dims."""
    shape = written.whole.shape
    if layer.op.inputs[0].shape != shape:
        return None
    meant = {dim for dim in dims if shape[dim] > 1}
    for statistic in (written.mean, written.spread):
        gone = find_reduced_dims(statistic)
        if gone is None:
            return None
        gone = gone or tuple(range(len(shape)))
        if {dim for dim in gone if shape[dim] > 1} != meant:
            return statistic
    return None


def _is_of_another_kind(layer: OperatorCall, wrong: OperatorCall) -> bool:
    """Return whether a function is named by another normalization than that of a layer,
    such as `layer_norm` where the layer is a batch norm.
    """
    names = wrong.op.module + " ".join(frame.function for frame in wrong.op.frames)
    kinds = {match.lower() for match in KINDS.findall(names)}
    return bool(kinds) and layer.name.partition("_")[0] not in kinds


def _is_denied(scene: HazardContext, op: Op) -> bool:
    """Return whether a comparison is to fail: `assert not torch.allclose(a, b)`."""
    place = scene.program.node(op.span)
    if place is None:
        return False
    text, node = place
    around = [node, *text.outwards(node)]
    return any(isinstance(getattr(part, "op", None), ast.Not) for part in around)


def describe_dims(dims: tuple[int, ...] | None) -> str:
    """Return dims in words: `dim 1`, `the dims 0, 2 and 3`."""
    numbers = [str(dim) for dim in sorted(dims or ())]
    if len(numbers) < 2:
        return f"dim {numbers[0]}" if numbers else "all dims"
    return f"the dims {', '.join(numbers[:-1])} and {numbers[-1]}"
