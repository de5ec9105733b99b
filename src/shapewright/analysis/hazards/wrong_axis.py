"""Weights that sum to one along one axis, but are used along another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.causes import way
from shapewright.analysis.hazards.context import Scene, counted, hazard
from shapewright.analysis.program_run import shape_text
from shapewright.analysis.provenance.axes import Dim, Dims
from shapewright.analysis.provenance.axis_flow import Call, length
from shapewright.analysis.provenance.layer_axes import (
    PRODUCTS,
    contraction,
    reduced_dims,
    softmax_dim,
)
from shapewright.findings.finding import Finding


@hazard("wrong-axis")
def wrong_axes(scene: Scene) -> Iterator[Finding]:
    """Softmax over queries, over the batch, or over any axis that is not summed."""
    yield from softmax_of_one(scene)
    yield from default_dims(scene)
    by_index = {call.op.index: call for call in scene.calls}
    told: set[int] = set()
    for call in scene.calls if scene.flow.weights else ():
        for summed, weights, values in sums(scene, call):
            at = misused(scene, by_index, summed, weights, values)
            if at is not None and at not in told and at in by_index:
                told.add(at)
                yield of_softmax(scene, by_index[at], call, summed)


DEFAULTS = {"cosine_similarity": 2, "normalize": 2}
"""Functions that run along dim 1 where no `dim` is written: the place of `dim`."""


def default_dims(scene: Scene) -> Iterator[Finding]:
    """Vectors in the last dim, compared or normalised along dim 1 by default.

    Example: ``F.cosine_similarity(a, v)`` of two (batch, frames, features).
    """
    for call in scene.calls:
        if call.name not in DEFAULTS or not call.dims or len(call.dims[0]) < 3:
            continue
        dims = call.dims[0]
        if not along_data(dims[1]) or dims[-1][0].kind != "feature":
            continue
        if names_no_dim(scene, call, DEFAULTS[call.name]):
            shape, last = shape_text(call.op.inputs[0]), len(dims) - 1
            message = (
                f"{scene.operation(call.op)} of {shape} runs along dim 1, by default;"
                f" the features are in dim {last}"
            )
            yield scene.finding("wrong-axis", call.op, message)


def names_no_dim(scene: Scene, call: Call, place: int) -> bool:
    """Whether the text calls a function without its `dim`."""
    found = scene.program.node(call.op.span)
    node = found[1] if found is not None else None
    if not isinstance(node, ast.Call) or scene.program.layer(call.op) is not None:
        return False
    starred = any(isinstance(each, ast.Starred) for each in node.args)
    keywords = {each.arg for each in node.keywords}
    return len(node.args) <= place and not starred and not keywords & {"dim", None}


def along_data(dim: Dim) -> bool:
    """Whether a dim counts steps or places of what the program was given."""
    return len(dim) == 1 and dim[0].data and dim[0].kind in ("input", "changed")


def softmax_of_one(scene: Scene) -> Iterator[Finding]:
    """Weights along a dim that a layer makes of size 1: each of them is one."""
    for call in scene.calls:
        if call.name not in ("softmax", "softmin") or not call.dims:
            continue
        at, fact = softmax_dim(call), call.op.inputs[0]
        if at is None or len(fact.shape) < 2 or fact.shape[at] != 1:
            continue
        made = way(scene.program, fact, at)
        if made.why == "parameter":
            shape = shape_text(fact)
            message = (
                f"{scene.operation(call.op)} of {shape} runs along dim {at}, which has"
                " size 1: every weight is 1"
            )
            maker = made.op or (made.steps[-1].op if made.steps else None)
            why = f"{shape_text(fact)} has one value along dim {at}, by its layer"
            yield scene.finding("wrong-axis", call.op, message, (maker, why))


def sums(scene: Scene, call: Call) -> Iterator[tuple[Dim, Dims, Dims]]:
    """Weighted sums: the dim of the weights that is summed, the weights, the values."""
    made = contraction(call)
    if made is not None and len(call.dims) == 2:
        if len(made.left) == 1:
            if not turned(scene, call, 0):
                yield made.left[0], call.dims[0], call.dims[1]
            if not turned(scene, call, 1):
                yield made.right[0], call.dims[1], call.dims[0]
        return
    if call.name in ("*", "mul", "multiply") and len(call.dims) == 2:
        for user in scene.users.get(call.op.outputs[0].tensor, ()):
            if user.name != "sum" or len(user.dims) != 1:
                continue
            gone = reduced_dims(user)
            if gone is None or len(gone) != 1:
                continue
            back = gone[0] - len(call.shape)
            for one, other in (call.dims, call.dims[::-1]):
                if -back <= len(one) and -back <= len(other):
                    yield one[back], one, other


def turned(scene: Scene, call: Call, at: int) -> bool:
    """Whether a matrix was transposed for the product, as `soft.T @ x` says openly."""
    fact = call.op.inputs[at]
    maker = scene.maker(fact)
    return len(fact.shape) == 2 and maker is not None and maker.name in TURNING


TURNING = frozenset({"T", "t", "mT", "transpose", "swapaxes"})


def misused(
    scene: Scene, calls: dict[int, Call], summed: Dim, weights: Dims, values: Dims
) -> int | None:
    """The softmax of weights that are summed along another axis than their own."""
    if is_marked(summed) or any(map(is_marked, values)):
        return None
    if length(summed) == 1 or not any(axis.data for axis in summed):
        return None
    for dim in weights:
        axis = dim[0]
        if len(dim) != 1 or axis.softmax is None or axis.size < 2:
            continue
        if axis.data or between_products(scene, calls.get(axis.softmax)):
            return axis.softmax
        return None
    return None


def between_products(scene: Scene, call: Call | None) -> bool:
    """Whether a softmax of scores runs along neither queries nor keys: the heads."""
    if call is None:
        return False
    at, fact = softmax_dim(call), call.op.inputs[0]
    for _ in range(STEPS):
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


STEPS = 6
"""Ops between the product of queries and keys and its softmax."""


def is_marked(dim: Dim) -> bool:
    """Whether a dim is one along which weights sum to one."""
    return any(axis.softmax is not None for axis in dim)


def of_softmax(scene: Scene, call: Call, use: Call, summed: Dim) -> Finding:
    at = softmax_dim(call) or 0
    rank = len(call.shape)
    own = call.dims[0][at]
    code = "batch-axis" if scene.is_batch(own) else "wrong-axis"
    message = (
        f"{scene.operation(call.op)} of {shape_text(call.op.inputs[0])} makes weights"
        f" that sum to one along dim {at}, but the weighted sum runs along another dim"
    )
    which = f"dim {at} of {rank}"
    where = counted(own[0]) if len(own) == 1 else ""
    said = f"{which} is {where}" if where else f"{which} is normalised here"
    size = length(summed)
    return scene.finding(
        code,
        call.op,
        message,
        (call.op, said),
        (use.op, f"the {size} weights that are summed here do not sum to one"),
    )
