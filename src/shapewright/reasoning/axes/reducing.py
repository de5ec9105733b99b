"""Axes through reductions, and through ops that pick along a dim."""

from __future__ import annotations

from shapewright.reasoning.axes.axis import Axis, Dim, changed
from shapewright.reasoning.axes.flow import Call, Flow, Outputs, follows, length

STATISTICS = frozenset(
    "mean sum max min amax amin std var prod logsumexp norm any all median nanmean "
    "nansum quantile mode count_nonzero vector_norm".split()
)
PICKS = frozenset({"argmax", "argmin"})


def reduced_dims(call: Call) -> tuple[int, ...] | None:
    """The dims that a reduction takes away, from the front; None where not known."""
    rank = len(call.dims[0])
    if "dim" in call.arguments or "axis" in call.arguments:
        found = call.arguments.get("dim", call.arguments.get("axis"))
    elif call.name == "norm":
        found = call.arguments.get("2")
    else:
        found = call.arguments.get("1")
    if isinstance(found, bool):
        return tuple(range(rank))
    if found is None:
        if len(call.op.inputs) > 1:
            return None  # the larger of two tensors
        return tuple(range(rank))
    every = found if isinstance(found, list | tuple) else (found,)
    return tuple(dim % rank for dim in every) if rank else ()


@follows(*STATISTICS, *PICKS, "softmin_")
def reduction(flow: Flow, call: Call) -> Outputs:
    gone = reduced_dims(call)
    dims = call.dims[0]
    if gone is None:
        return None
    if not gone:
        gone = tuple(range(len(dims)))
    if len(call.shape) == len(dims):
        explicit = call.name not in PICKS
        one: Dim = (Axis(1, "one", "keepdim", explicit=explicit),)
        made = tuple(one if at in gone else dim for at, dim in enumerate(dims))
    else:
        made = tuple(dim for at, dim in enumerate(dims) if at not in gone)
    return [made] * len(call.op.outputs)


@follows("topk", "sort", "kthvalue")
def picked(flow: Flow, call: Call) -> Outputs:
    if len(call.shape) != len(call.dims[0]):
        return None
    made = []
    for dim, size in zip(call.dims[0], call.shape, strict=True):
        one = size == 1 and length(dim) != 1
        made.append((Axis(1, "one", "topk"),) if one else changed(dim, size))
    return [tuple(made)] * len(call.op.outputs)


@follows("gather", "take_along_dim")
def gather(flow: Flow, call: Call) -> Outputs:
    """As the index: of equal sizes what is gathered from tells what they count."""
    made: list[Dim] = []
    for own, index, size in zip(call.dims[0], call.dims[1], call.shape, strict=True):
        if length(own) == size and size != 1:
            made.append(own)
        elif size == 1:
            made.append((Axis(1, "one", "gather"),))
        else:
            made.append(index if length(index) == size else changed(own, size))
    return tuple(made)


@follows("cosine_similarity", "pairwise_distance")
def similarity(flow: Flow, call: Call) -> Outputs:
    rank = max(len(dims) for dims in call.dims)
    at = call.given(2, "dim", default=1 if call.name.startswith("cos") else -1)
    shape = tuple(
        max(length(dims[d - rank + len(dims)]) for dims in call.dims
            if d - rank + len(dims) >= 0)
        for d in range(rank)
    )  # fmt: skip
    every = flow.lined_up(call.dims[:2], shape, True)
    if len(call.shape) == rank:
        return None
    return tuple(dim for d, dim in enumerate(every) if d != at % rank)


@follows(
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss",
)  # fmt: skip
def pointwise_loss(flow: Flow, call: Call) -> Outputs:
    return () if not call.shape else None


@follows("cross_entropy", "nll_loss")
def class_loss(flow: Flow, call: Call) -> Outputs:
    if not call.shape:
        return ()
    dims = call.dims[0]
    return (*dims[:1], *dims[2:]) if len(dims) > 1 else None


def softmax_dim(call: Call) -> int | None:
    """The dim along which a softmax runs, as torch chooses it where none is given."""
    rank = len(call.dims[0])
    at = call.given(1, "dim")
    if call.name == "softmax2d":
        at = -3
    if at is None:
        at = 0 if rank in (0, 1, 3) else 1
    return at % rank if rank and isinstance(at, int) else None


@follows("softmax", "softmin", "gumbel_softmax")
def softmax(flow: Flow, call: Call) -> Outputs:
    """The dim that is normalised is marked, so that its use can be followed."""
    at, dims = softmax_dim(call), call.dims[0]
    if call.name == "gumbel_softmax":
        at = call.given(4, "dim", default=-1) % len(dims)
    if at is None:
        return None
    flow.weights = True
    own = dims[at]
    data = any(axis.data for axis in own)
    source = own[0] if len(own) == 1 else None
    marked = Axis(
        length(own), "changed", own[0].words, data, source, normalised=call.op.index
    )
    return (*dims[:at], (marked,), *dims[at + 1 :])
