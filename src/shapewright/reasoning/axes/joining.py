"""Axes where tensors are joined."""

from __future__ import annotations

from shapewright.reasoning.axes.axis import Axis, Dim, worth
from shapewright.reasoning.axes.flow import Call, Flow, Outputs, better, follows, length


def best(dims: list[Dim]) -> Dim:
    """The dim that tells most."""
    found = dims[0]
    for dim in dims[1:]:
        if better(dim, found):
            found = dim
    return found


@follows("cat", "concat", "concatenate")
def cat(flow: Flow, call: Call) -> Outputs:
    rank = len(call.shape)
    at = call.given(1, "dim", "axis", default=0) % rank
    parts = [dims for dims in call.dims if len(dims) == rank]
    made: list[Dim] = []
    for dim in range(rank):
        own = [dims[dim] for dims in parts]
        made.append(joined(flow, own, call.shape[dim]) if dim == at else best(own))
    return tuple(made)


def joined(flow: Flow, dims: list[Dim], size: int) -> Dim:
    """The dim along which parts were joined: equal parts can be told apart again."""
    first = dims[0]
    if len(dims) == 1:
        return first
    data = any(axis.data for dim in dims for axis in dim)
    if len({length(dim) for dim in dims}) == 1 and length(first) > 1:
        kept = min(dims, key=worth)
        return (Axis(len(dims), "parts", "the joined parts"), *kept)
    if length(first) == 1 and (steps := flow.by_size.get(size)) is not None:
        return (steps,)  # the steps of a loop, joined again
    longest = max(dims, key=length)
    source = longest[0] if len(longest) == 1 else None
    words = longest[0].words
    # A row of zeros in front, as for a relative shift, is asked for by the program.
    return (Axis(size, "changed", words, data, source, explicit=True),)


@follows("stack")
def stack(flow: Flow, call: Call) -> Outputs:
    rank = len(call.shape)
    at = call.given(1, "dim", default=0) % rank
    every = [best(list(own)) for own in zip(*call.dims, strict=True)]
    count = len(call.op.inputs)
    known = flow.by_size.get(count)
    steps: Dim = (
        known or Axis(count, "one" if count == 1 else "parts", explicit=True),
    )
    return (*every[:at], steps, *every[at:])
