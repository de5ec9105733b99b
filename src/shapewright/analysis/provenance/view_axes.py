"""Rules for dims that views, indexing and joins move, split, add, drop or merge."""

from __future__ import annotations

from typing import Any

from shapewright.analysis.provenance.axes import Axis, Dim, Dims, rank_dim, resize_dim
from shapewright.analysis.provenance.axis_flow import (
    AxisFlow,
    OperatorCall,
    Outputs,
    follows,
    get_length,
    is_better,
)


def _create_explicit_one() -> Dim:
    """Return a dim of size 1 that the program's text requests."""
    return (Axis(1, "one", explicit=True),)


@follows("view", "reshape", "flatten", "unflatten", "view_as", "reshape_as", "ravel")
def reshaped(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return flow.recut(call.op, call.dims[0], call.shape)


@follows("view_as_complex")
def complex_pairs(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return call.dims[0][:-1]


@follows("view_as_real")
def real_pairs(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return (*call.dims[0], (Axis(2, "made"),))


@follows("permute")
def permute(flow: AxisFlow, call: OperatorCall) -> Outputs:
    order = call.rest(1, "dims")
    dims = call.dims[0]
    return tuple(dims[at] for at in order) if order is not None else None


@follows("transpose", "swapaxes", "swapdims", "transpose_")
def transpose(flow: AxisFlow, call: OperatorCall) -> Outputs:
    first, second = call.given(1, "dim0", "axis0"), call.given(2, "dim1", "axis1")
    dims = list(call.dims[0])
    dims[first], dims[second] = dims[second], dims[first]
    return tuple(dims)


@follows("T", "t", "mT", "H", "mH", "adjoint")
def turned(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims = call.dims[0]
    if call.name == "T":
        return tuple(reversed(dims))
    return dims if len(dims) < 2 else (*dims[:-2], dims[-1], dims[-2])


@follows("movedim", "moveaxis")
def movedim(flow: AxisFlow, call: OperatorCall) -> Outputs:
    source, target = call.given(1, "source"), call.given(2, "destination")
    dims, rank = call.dims[0], len(call.dims[0])
    sources = [d % rank for d in (source if isinstance(source, tuple) else (source,))]
    targets = [d % rank for d in (target if isinstance(target, tuple) else (target,))]
    rest = iter([d for d in range(rank) if d not in sources])
    place = dict(zip(targets, sources, strict=True))
    return tuple(dims[place[d] if d in place else next(rest)] for d in range(rank))


@follows("unsqueeze")
def unsqueeze(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims = list(call.dims[0])
    at = call.given(1, "dim") % (len(dims) + 1)
    return (*dims[:at], _create_explicit_one(), *dims[at:])


@follows("squeeze")
def squeeze(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims = call.dims[0]
    at = call.given(1, "dim")
    if at is None:
        return tuple(dim for dim in dims if get_length(dim) != 1)
    gone = {d % len(dims) for d in (at if isinstance(at, tuple) else (at,))}
    return tuple(
        dim for d, dim in enumerate(dims) if d not in gone or get_length(dim) != 1
    )


@follows("expand", "expand_as", "broadcast_to", "broadcast_tensors")
def expand(flow: AxisFlow, call: OperatorCall) -> Outputs:
    outputs = []
    for dims, out in zip(call.dims, call.op.outputs, strict=False):
        new: list[Dim] = []
        back = len(out.shape) - len(dims)
        for at, size in enumerate(out.shape):
            own = dims[at - back] if at >= back else None
            kept = own is not None and get_length(own) == size
            new.append(own if kept and own else (Axis(size, "expanded"),))
        outputs.append(tuple(new))
    return outputs


@follows("repeat", "tile")
def repeat(flow: AxisFlow, call: OperatorCall) -> Outputs:
    counts = call.rest(1, "repeats", "dims") or ()
    dims = call.dims[0]
    back = len(call.shape) - len(dims)
    counts = (1,) * (len(call.shape) - len(counts)) + tuple(counts)
    out_dims: list[Dim] = []
    for at, count in enumerate(counts):
        own = dims[at - back] if at >= back else ()
        own = tuple(axis for axis in own if axis.size != 1 or count == 1)
        again = (Axis(count, "repeat"),) if count != 1 or not own else ()
        out_dims.append((*again, *own))
    return tuple(out_dims)


@follows("repeat_interleave")
def repeat_interleave(flow: AxisFlow, call: OperatorCall) -> Outputs:
    count, at = call.given(1, "repeats"), call.given(2, "dim")
    dims = list(call.dims[0])
    if not isinstance(count, int) or at is None:
        return None
    own = tuple(axis for axis in dims[at] if axis.size != 1)
    dims[at] = (*own, Axis(count, "repeat"))
    return tuple(dims)


@follows("chunk", "split", "tensor_split", "split_with_sizes")
def split(flow: AxisFlow, call: OperatorCall) -> Outputs:
    at = call.given(2, "dim", default=0) % len(call.dims[0])
    return [_slice_dims(call.dims[0], at, out.shape[at]) for out in call.op.outputs]


def _slice_dims(dims: Dims, at: int, size: int) -> Dims:
    """Return dims with the size of one of them reduced."""
    own = dims[at]
    if len(own) > 1 and own[0].kind == "parts" and get_length(own[1:]) == size:
        return (*dims[:at], own[1:], *dims[at + 1 :])
    return (*dims[:at], resize_dim(own, size), *dims[at + 1 :])


@follows("narrow")
def narrow(flow: AxisFlow, call: OperatorCall) -> Outputs:
    at = call.given(1, "dim") % len(call.dims[0])
    return _slice_dims(call.dims[0], at, call.shape[at])


@follows("unbind")
def unbind(flow: AxisFlow, call: OperatorCall) -> Outputs:
    at = call.given(1, "dim", default=0) % len(call.dims[0])
    dims = call.dims[0]
    return [(*dims[:at], *dims[at + 1 :])] * len(call.op.outputs)


@follows("select")
def select(flow: AxisFlow, call: OperatorCall) -> Outputs:
    at = call.given(1, "dim") % len(call.dims[0])
    dims = call.dims[0]
    return (*dims[:at], *dims[at + 1 :])


@follows("[]", "__getitem__")
def indexed(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims = call.dims[0]
    items = get_items(call)
    if items is None:
        return None
    used = sum(1 for item in items if item is not None and item != "...")
    room = len(dims) - used
    if "..." not in items:
        items = (*items, "...")
    indexed_dims: list[Dim] = []
    at = tensors = 0
    lists = sum(1 for item in items if item == "tensor" or isinstance(item, list))
    for item in items:
        if item is None:
            indexed_dims.append(_create_explicit_one())
        elif item == "...":
            indexed_dims += dims[at : at + room]
            at += room
        elif isinstance(item, bool):
            return None
        elif isinstance(item, int):
            at += 1
        elif isinstance(item, list):
            if lists > 1:
                return None
            indexed_dims.append(resize_dim(dims[at], len(item)))
            at += 1
        elif item == "tensor":
            tensors += 1
            fact = call.op.inputs[tensors]
            if lists > 1 or fact.dtype == "bool":
                return None
            indexed_dims += call.dims[tensors]
            at += 1
        else:
            size = call.shape[len(indexed_dims)]
            indexed_dims.append(
                dims[at] if item == ":" else _slice_dims(dims, at, size)[at]
            )
            at += 1
    return tuple(indexed_dims)


def get_items(call: OperatorCall) -> tuple[Any, ...] | None:
    """Return the items of an index; None if they are not known."""
    if "1" not in call.arguments:
        return ("tensor",) if len(call.op.inputs) == 2 else None
    key = call.arguments["1"]
    return key if isinstance(key, tuple) else (key,)


def _find_best(dims: list[Dim]) -> Dim:
    """Return the most informative dim."""
    best = dims[0]
    for dim in dims[1:]:
        if is_better(dim, best):
            best = dim
    return best


@follows("cat", "concat", "concatenate")
def cat(flow: AxisFlow, call: OperatorCall) -> Outputs:
    rank = len(call.shape)
    at = call.given(1, "dim", "axis", default=0) % rank
    parts = [dims for dims in call.dims if len(dims) == rank]
    out_dims: list[Dim] = []
    for dim in range(rank):
        own = [dims[dim] for dims in parts]
        out_dims.append(
            _join_dims(flow, own, call.shape[dim]) if dim == at else _find_best(own)
        )
    return tuple(out_dims)


def _join_dims(flow: AxisFlow, dims: list[Dim], size: int) -> Dim:
    """Return the dim along which parts were joined; parts of equal size stay
    separate, unless they were flattened from other shapes, as the weights of a model.
    """
    first = dims[0]
    if len(dims) == 1:
        return first
    data = any(axis.data for dim in dims for axis in dim)
    flattened = {tuple(axis.size for axis in dim) for dim in dims if len(dim) > 1}
    alike = len({get_length(dim) for dim in dims}) == 1 and len(flattened) < 2
    if alike and get_length(first) > 1:
        kept = min(dims, key=rank_dim)
        return (Axis(len(dims), "parts", "the joined parts"), *kept)
    if get_length(first) == 1 and (steps := flow.by_size.get(size)) is not None:
        return (steps,)  # the steps of a loop, joined again
    longest = max(dims, key=get_length)
    source = longest[0] if len(longest) == 1 else None
    words = longest[0].words
    # A row of zeros in front, as for a relative shift, is asked for by the program.
    return (Axis(size, "changed", words, data, source, explicit=True),)


@follows("stack")
def stack(flow: AxisFlow, call: OperatorCall) -> Outputs:
    rank = len(call.shape)
    at = call.given(1, "dim", default=0) % rank
    every = [_find_best(list(own)) for own in zip(*call.dims, strict=True)]
    count = len(call.op.inputs)
    known = flow.by_size.get(count)
    steps: Dim = _find_unbound(flow, call) or (
        known or Axis(count, "one" if count == 1 else "parts", explicit=True),
    )
    return (*every[:at], steps, *every[at:])


def _find_unbound(flow: AxisFlow, call: OperatorCall) -> Dim | None:
    """Return the dim that was unbound into what a call stacks: `torch.stack(list(x))`.

    None where anything else is among it.
    """
    makers = [flow.program.producers.get(fact.tensor) for fact in call.op.inputs]
    first = makers[0]
    if first is None or first.name.rpartition(".")[2] != "unbind":
        return None
    if any(maker is not first for maker in makers):
        return None
    if len(first.outputs) != len(makers):
        return None
    arguments = dict(first.arguments)
    dims = flow.of(first.inputs[0])
    return dims[arguments.get("dim", arguments.get("1", 0)) % len(dims)]
