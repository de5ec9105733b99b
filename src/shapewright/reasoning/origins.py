"""Which dims of its inputs a dim of an output came from."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from shapewright.trace.fact import Fact
from shapewright.trace.op import Op


@dataclass(frozen=True, slots=True)
class Origin:
    """Dims of one input. `how`: "same", "product", "changed", "joined", "parameter"."""

    how: str
    places: tuple[tuple[int, int], ...]  # (input, dim)


SHAPING = frozenset("view reshape flatten unflatten view_as reshape_as ravel".split())
CONVOLVING = frozenset("conv1d conv2d conv3d".split())
TRANSPOSED = frozenset("conv_transpose1d conv_transpose2d conv_transpose3d".split())
PRODUCTS = frozenset("matmul @ mm bmm mv dot __matmul__ __rmatmul__".split())
JOINS = frozenset("cat concat concatenate".split())


def origin(op: Op, out: Fact, dim: int) -> Origin | None:
    """Where a dim came from, None where that is not known."""
    found = followed(op, out, dim)
    for at, place in found.places if found is not None else ():
        if not 0 <= place < len(op.inputs[at].shape):
            return None  # of a call that torch refused
    return found


def followed(op: Op, out: Fact, dim: int) -> Origin | None:
    """The same by the operator, were the call one that torch takes."""
    name = op.name.rpartition(".")[2]
    if not op.inputs or dim >= len(out.shape):
        return None
    first = op.inputs[0]
    if name in SHAPING:
        return of_shaping(first, out, dim)
    if op.kind == "view" and first.stride is not None and out.stride is not None:
        return of_view(first, out, dim)
    if name == "linear" and len(op.inputs) > 1:
        if dim == len(out.shape) - 1:
            return Origin("parameter", ((1, 0),))
        return Origin("same", ((0, dim),))
    if name in CONVOLVING | TRANSPOSED and len(op.inputs) > 1:
        return of_convolution(op, out, dim, name in TRANSPOSED)
    if name == "embedding" and len(op.inputs) > 1:
        if dim == len(out.shape) - 1:
            return Origin("parameter", ((1, 1),))
        return Origin("same", ((0, dim),))
    if name in PRODUCTS and len(op.inputs) == 2:
        return of_product(op.inputs[0], op.inputs[1], out, dim)
    if name in JOINS:
        return of_join(op, out, dim)
    if name == "stack":
        return None
    return of_others(op, out, dim)


def of_shaping(before: Fact, after: Fact, dim: int) -> Origin | None:
    """Sizes are multiplied together, or taken apart, from the left."""
    i = j = 0
    one, two = before.shape, after.shape
    while i < len(one) and j < len(two):
        start, place = i, j
        left, right = one[i], two[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(one):
                left, i = left * one[i], i + 1
            elif left > right and j < len(two):
                right, j = right * two[j], j + 1
            else:
                return None
        if place <= dim < j:
            dims = [d for d in range(start, i) if one[d] != 1] or [start]
            if j - place == 1:
                how = "same" if len(dims) == 1 else "product"
                return Origin(how, tuple((0, d) for d in dims))
            return Origin("part", tuple((0, d) for d in dims))
    return None


def of_view(before: Fact, after: Fact, dim: int) -> Origin | None:
    """A dim with the same step through the storage, or else the only one as long."""
    assert before.stride is not None
    assert after.stride is not None
    size, step = after.shape[dim], after.stride[dim]
    same = [
        d
        for d, pair in enumerate(zip(before.shape, before.stride, strict=True))
        if pair == (size, step)
    ]
    if same:
        return Origin("same", ((0, same[0]),))
    stepped = [d for d, s in enumerate(before.stride) if s == step and step]
    if stepped:
        return Origin("changed", ((0, stepped[0]),))
    return None


def of_convolution(op: Op, out: Fact, dim: int, transposed: bool) -> Origin | None:
    rank = len(op.inputs[1].shape)
    channels = len(out.shape) - rank + 1
    if dim == channels:
        return Origin("parameter", ((1, 1 if transposed else 0),))
    if len(op.inputs[0].shape) != len(out.shape):
        return None  # refused: what came has too few dims
    same = op.inputs[0].shape[dim] == out.shape[dim]
    return Origin("same" if same else "changed", ((0, dim),))


def of_product(one: Fact, other: Fact, out: Fact, dim: int) -> Origin | None:
    rank = len(out.shape)
    if len(other.shape) > 1 and dim == rank - 1:
        return Origin("same", ((1, len(other.shape) - 1),))
    if len(other.shape) == 1 or dim == rank - 2:
        rows = len(one.shape) - (1 if len(other.shape) == 1 else 2)
        if dim == rank - (1 if len(other.shape) == 1 else 2) and rows >= 0:
            return Origin("same", ((0, rows),))
    back = rank - dim
    for at, fact in ((0, one), (1, other)):
        place = len(fact.shape) - back
        if place >= 0 and fact.shape[place] == out.shape[dim]:
            return Origin("same", ((at, place),))
    return None


def of_join(op: Op, out: Fact, dim: int) -> Origin | None:
    rank = len(out.shape)
    facts = [fact for fact in op.inputs if len(fact.shape) == rank]
    if not facts:
        return None
    if sum(fact.shape[dim] for fact in facts) == out.shape[dim] and len(facts) > 1:
        return Origin("joined", tuple((n, dim) for n in range(len(facts))))
    return Origin("same", ((0, dim),))


def of_others(op: Op, out: Fact, dim: int) -> Origin | None:
    """Sizes lined up from the right; the same place where ranks are equal."""
    size, back = out.shape[dim], len(out.shape) - dim
    for at, fact in enumerate(op.inputs):
        place = len(fact.shape) - back
        fits = len(fact.shape) <= len(out.shape) and place >= 0
        if fits and fact.shape[place] == size:
            return Origin("same", ((at, place),))
    first = op.inputs[0]
    if len(first.shape) == len(out.shape):
        return Origin("changed", ((0, dim),))
    same = [d for d, each in enumerate(first.shape) if each == size]
    return Origin("same", ((0, same[0]),)) if len(same) == 1 else None


def product_text(sizes: tuple[int, ...]) -> str:
    """`16·4·4`."""
    return "·".join(map(str, sizes))


def check_product(sizes: tuple[int, ...], total: int) -> bool:
    """Whether these sizes multiply to a total."""
    return prod(sizes) == total
