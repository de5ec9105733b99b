"""A call that does not fit: which dims of which tensors should have been equal."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.rules.maps.all import MAPS
from shapewright.rules.maps.drawn import Drawn, Side

Place = tuple[str, int]
"""A tensor by name, and one of its dims, counted from 0."""
Clash = tuple[Place, Place]

PRODUCTS = frozenset("matmul mm bmm mv dot addmm baddbmm __matmul__".split())


def clashes(drawn: Drawn) -> list[Clash]:
    """Pairs of dims that should have been equal, for the families where that is known.

    Example: ``F.linear(f32[8, 256], f32[120, 400])`` clashes in dim 1 of `input` and
    dim 1 of `weight`.
    """
    if not drawn.error or len(drawn.inputs) < 2:
        return []
    last = drawn.name.rpartition(".")[2]
    if last in PRODUCTS:
        return list(of_product(*drawn.inputs[-2:]))
    if last == "linear":
        one, other = drawn.inputs[:2]
        return list(differing([(one, -1), (other, -1)]))
    if last in ("conv1d", "conv2d", "conv3d") and drawn.arguments.get("groups", 1) == 1:
        one, other = drawn.inputs[:2]
        if len(one.shape) >= len(other.shape) - 1 > 1:
            return list(differing([(one, 1 - len(other.shape)), (other, 1)]))
    if last in ("cat", "concat", "concatenate", "stack"):
        return list(of_joining(drawn, None if last == "stack" else "dim"))
    make = MAPS.get(drawn.name)
    if make is not None and make.__module__.endswith(".binary"):
        return list(of_broadcast(*drawn.inputs[:2]))
    return []


def of_product(one: Side, other: Side) -> Iterator[Clash]:
    """Columns of the first against rows of the second, then what is lined up."""
    if not one.shape or not other.shape:
        return
    rows = -1 if len(other.shape) == 1 else -2
    yield from differing([(one, -1), (other, rows)])
    for back in range(3, min(len(one.shape), len(other.shape)) + 1):
        if 1 not in (one.shape[-back], other.shape[-back]):
            yield from differing([(one, -back), (other, -back)])


def of_broadcast(one: Side, other: Side) -> Iterator[Clash]:
    """Sizes lined up from the right, neither of them 1."""
    for back in range(1, min(len(one.shape), len(other.shape)) + 1):
        if 1 not in (one.shape[-back], other.shape[-back]):
            yield from differing([(one, -back), (other, -back)])


def of_joining(drawn: Drawn, along: str | None) -> Iterator[Clash]:
    """Every dim but the one that is joined, against the first tensor's."""
    first, *others = drawn.inputs
    dim = drawn.arguments.get("dim", 0) if along else None
    rank = len(first.shape)
    for other in others:
        for at in range(rank) if len(other.shape) == rank else ():
            if dim is None or at != dim % rank:
                yield from differing([(first, at), (other, at)])


def differing(pair: list[tuple[Side, int]]) -> Iterator[Clash]:
    """The pair as places, if its sizes differ."""
    (one, at), (other, to) = pair
    if one.shape[at] != other.shape[to]:
        yield (
            (one.name, at % len(one.shape)),
            (other.name, to % len(other.shape)),
        )


def told(drawn: Drawn, found: list[Clash]) -> list[str]:
    """A sentence for each clash."""
    sizes = {side.name: side.written for side in drawn.inputs}
    return [
        f"dim {at} of `{one}` is {sizes[one][at]}, dim {to} of `{other}` is"
        f" {sizes[other][to]}: they should be equal"
        for (one, at), (other, to) in found
    ]


def carets(side: Side, found: list[Clash]) -> str:
    """Carets below the sizes of a shape that clash, empty where none does."""
    marked = {at for clash in found for name, at in clash if name == side.name}
    text = ""
    for at, size in enumerate(side.written):
        text += " " * (1 if at == 0 else 2)
        text += ("^" if at in marked else " ") * len(size)
    return text.rstrip()
