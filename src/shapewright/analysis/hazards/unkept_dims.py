"""Find a tensor that meets its own sum along another dim than the sum was taken of:
`adj / adj.sum(1)` of a square matrix divides the columns by the sums of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import parse_equation
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

REDUCING = operators_with("reduces_dims") | {"einsum", "norm"}
ELEMENTWISE = operators_with("computes_each_element", "clamps") | {"+", "pow", "**"}
NORMALIZING = operators_with("divides_elements", "subtracts") | {"/", "-", "/=", "-="}
FARTHEST = 6
"""Calls between a tensor and the one that it meets."""


def find_unkept_dims(scene: HazardContext) -> Iterator[Finding]:
    """Find reductions without `keepdim=True` that line up with another dim."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in NORMALIZING or len(call.op.inputs) != 2:
            continue
        if call.op.span is None or call.op.span in seen:
            continue
        whole, part = call.op.inputs
        reduction = _find_reduction(scene, whole, part)
        if reduction is None:
            continue
        seen.add(call.op.span)
        dims = _get_dims(reduction, len(whole.shape))
        dim = ", ".join(map(str, dims))
        names = scene.names(call.op)
        what = "divides" if "/" in call.name or "div" in call.name else "shifts"
        kept = next(at for at in range(len(whole.shape)) if at not in dims)
        last = len(whole.shape) - len(part.shape)
        message = (
            f"{names[1]} was reduced along dim {dim} without `keepdim=True`, and its"
            f" dim 0, which is dim {kept} of what it was computed of, lines up with dim"
            f" {last} of {names[0]}: it {what} other rows"
        )
        yield scene.finding(
            WRONG_AXIS, call.op, message, (reduction.op, "it is reduced here")
        )


def _get_dims(call: OperatorCall, rank: int) -> list[int]:
    """Return the dims that a call reduces; none where they are not known."""
    if call.name == "einsum":
        equation = parse_equation(call)
        if equation is None or equation[1] is None or len(equation[0]) != 1:
            return []
        letters, kept = equation[0][0], equation[1]
        alike = len(set(letters)) == len(letters) == rank
        in_order = [letter for letter in letters if letter in kept] == list(kept)
        return [
            at for at, letter in enumerate(letters)
            if alike and in_order and letter not in kept
        ]  # fmt: skip
    dims = call.given(1, "dim", "axis")
    if call.name == "norm":
        dims = call.given(2, "dim")
    given_dims = dims if isinstance(dims, tuple | list) else (dims,)
    if not all(type(dim) is int for dim in given_dims):
        return []
    return sorted(dim % rank for dim in given_dims)


def _find_reduction(
    scene: HazardContext, whole: Fact, part: Fact
) -> OperatorCall | None:
    """Return the call that reduced a tensor to another one, which then lines up with
    its dims one place further on.
    """
    rank = len(whole.shape)
    if rank < 2 or not 0 < len(part.shape) < rank or part.shape[-1] < 2:
        return None
    for op in iter_first_makers(scene.program, part, FARTHEST):
        call = scene.call(op)
        if call.name in REDUCING:
            if not op.inputs or len(op.inputs[0].shape) != rank:
                return None
            dims = _get_dims(call, rank)
            kept = [at for at in range(rank) if at not in dims]
            if not dims or kept == list(range(rank - len(part.shape), rank)):
                return None
            return call if _is_made_of(scene, op.inputs[0], whole) else None
        if call.name not in ELEMENTWISE or op.outputs[0].shape != part.shape:
            return None
    return None


def _is_made_of(scene: HazardContext, fact: Fact, whole: Fact) -> bool:
    """Return whether a tensor is another one, or its elements changed one by one."""
    if fact.tensor == whole.tensor:
        return True
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        name = op.name.rpartition(".")[2]
        if name not in ELEMENTWISE or not op.inputs:
            return False
        if op.inputs[0].tensor == whole.tensor:
            return op.inputs[0].shape == fact.shape
    return False


def find_column_statistics(scene: HazardContext) -> Iterator[Finding]:
    """Find images (N, C, H, W) that are standardized by a mean and a deviation for each
    of their columns, where a convolution takes dim 1 for the channels.
    """
    convolved: dict[tuple[int, ...], OperatorCall] = {}
    for call in scene.calls:
        if call.name in CONVOLUTIONS and call.op.inputs:
            convolved.setdefault(call.op.inputs[0].shape[1:], call)
    seen: set[object] = set()
    for call in scene.calls if convolved else ():
        if call.name not in NORMALIZING or len(call.op.inputs) != 2:
            continue
        whole, part = call.op.inputs
        layer = convolved.get(whole.shape[1:])
        statistic = scene.maker(part)
        if layer is None or statistic is None or statistic.name not in STATISTICS:
            continue
        source = statistic.op.inputs[0]
        rank = source.ndim
        if source.shape in seen or statistic.op.span is None or rank < 4:
            continue
        if source.shape[1:] != whole.shape[1:] or source.shape[0] < 2:
            continue
        if _get_dims(statistic, rank) != list(range(rank - 1)):
            continue
        if not 1 < part.numel == source.shape[-1] != source.shape[1]:
            continue
        seen.add(source.shape)
        message = (
            f"`{statistic.name}` of {format_shape(source)} leaves one value for each of"
            f" the {part.numel} columns, dim {rank - 1}, and the channels of the"
            " convolution are dim 1: all of them share it"
        )
        yield scene.finding(
            WRONG_AXIS,
            statistic.op,
            message,
            (call.op, "the columns are standardized here"),
            (layer.op, "the channels are dim 1 here"),
        )


STATISTICS = operators_with("measures_spread") | {"mean"}
CONVOLUTIONS = operators_with("is_convolution")
