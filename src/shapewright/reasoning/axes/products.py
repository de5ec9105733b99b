"""Axes through products of two tensors: what is summed, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

from shapewright.reasoning.axes.axis import Axis, Dim, Dims, worth
from shapewright.reasoning.axes.flow import Call, Flow, Outputs, follows, length

PRODUCTS = frozenset({"matmul", "@", "mm", "bmm", "mv", "__matmul__", "__rmatmul__"})


@dataclass(frozen=True, slots=True)
class Contraction:
    """The dims that a product sums over, for each of its two tensors."""

    left: Dims
    right: Dims


def contraction(call: Call) -> Contraction | None:
    """What a matrix product or an einsum of two tensors sums over."""
    if call.name == "einsum":
        return einsum_contraction(call)
    if call.name not in PRODUCTS or len(call.dims) < 2:
        return None
    one, other = call.dims[0], call.dims[1]
    if not one or not other:
        return None
    row = other[-2] if len(other) > 1 else other[-1]
    return Contraction((one[-1],), (row,))


@follows(*PRODUCTS)
def product(flow: Flow, call: Call) -> Outputs:
    one, other = call.dims[0], call.dims[1]
    rows = one[:-1] if len(one) == 1 else one[-2:-1]
    columns = other[-1:] if len(other) > 1 else ()
    made = (*rows, *columns)
    batch = call.shape[: len(call.shape) - len(made)]
    fronts = [dims[:-2] for dims in (one, other)]
    return (*flow.lined_up(fronts, batch, True), *made)


@follows("linear")
def linear(flow: Flow, call: Call) -> Outputs:
    return (*call.dims[0][:-1], feature(call, 1, 0, call.shape[-1]))


@follows("addmm", "baddbmm")
def addmm(flow: Flow, call: Call) -> Outputs:
    one, other = call.dims[1], call.dims[2]
    return (*one[:-1], other[-1])


@follows("outer", "ger")
def outer(flow: Flow, call: Call) -> Outputs:
    return (call.dims[0][0], call.dims[1][0])


@follows("cdist")
def cdist(flow: Flow, call: Call) -> Outputs:
    one, other = call.dims[:2]
    fronts = flow.lined_up([one[:-2], other[:-2]], call.shape[:-2], True)
    return (*fronts, one[-2], other[-2])


def feature(call: Call, at: int, dim: int, size: int) -> Dim:
    """What a layer's weight makes: its outputs."""
    path = ""
    if at < len(call.op.inputs):
        own = call.dims[at][dim] if dim < len(call.dims[at]) else ()
        path = own[0].words if own else ""
    return (Axis(size, "feature", path),)


@follows("embedding")
def embedding(flow: Flow, call: Call) -> Outputs:
    return (*call.dims[0], feature(call, 1, 1, call.shape[-1]))


@follows("one_hot")
def one_hot(flow: Flow, call: Call) -> Outputs:
    return (*call.dims[0], (Axis(call.shape[-1], "feature"),))


def equation(call: Call) -> tuple[list[str], str | None] | None:
    """The letters of each operand and of the output; None for the second without
    an arrow. None where the equation is not text, or has dots."""
    text = call.given(0, "equation")
    if not isinstance(text, str):
        return None
    text = text.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(call.dims):
        return None
    for at, term in enumerate(terms):
        if "..." in term:
            count = len(call.dims[at]) - len(term) + 3
            terms[at] = term.replace("...", DOTS[len(DOTS) - count :] if count else "")
    widest = max((len(t) for t in terms), default=0)
    dots = "".join(c for c in DOTS if any(c in t for t in terms)) if widest else ""
    out = right.replace("...", dots) if arrow else None
    if any(len(t) != len(d) for t, d in zip(terms, call.dims, strict=True)):
        return None
    return terms, out


DOTS = "0123456789"


def einsum_letters(call: Call) -> dict[str, Dim] | None:
    """What each letter of an einsum counts."""
    found = equation(call)
    if found is None:
        return None
    letters: dict[str, Dim] = {}
    for term, dims in zip(found[0], call.dims, strict=True):
        for letter, dim in zip(term, dims, strict=True):
            old = letters.get(letter)
            if old is None or length(old) == 1 or worth(dim) < worth(old):
                letters[letter] = dim
    return letters


@follows("einsum")
def einsum(flow: Flow, call: Call) -> Outputs:
    found, letters = equation(call), einsum_letters(call)
    if found is None or letters is None:
        return None
    return tuple(letters[letter] for letter in output_letters(*found))


def output_letters(terms: list[str], out: str | None) -> str:
    """The letters of the output; without an arrow those that stand once, sorted."""
    if out is not None:
        return out
    every = "".join(terms)
    return "".join(sorted(c for c in set(every) if every.count(c) == 1))


def einsum_contraction(call: Call) -> Contraction | None:
    found = equation(call)
    if found is None or len(found[0]) != 2:
        return None
    (one, other), out = found[0], output_letters(*found)
    gone = [c for c in one if c in other and c not in out]
    first = dict(zip(one, call.dims[0], strict=True))
    second = dict(zip(other, call.dims[1], strict=True))
    return Contraction(tuple(first[c] for c in gone), tuple(second[c] for c in gone))
