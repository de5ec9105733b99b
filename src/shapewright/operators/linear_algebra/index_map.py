"""Index maps of distances between vectors, Kronecker products and traces."""

from __future__ import annotations

from typing import Any

from shapewright.index_maps.index_expressions import (
    MOST,
    build_broadcast_index,
    list_letters,
)
from shapewright.index_maps.index_map import (
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Stage,
    Then,
    constant,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.promotion_and_broadcasting import broadcast
from shapewright.sizes.expressions import Expression, Letter, number

Shape = tuple[int, ...]
BY_PRODUCT = 25
"""With more rows than this, torch computes Euclidean distances by a matrix product."""


@index_map("torch.cdist")
def cdist(
    x1: Meta,
    x2: Meta,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Any:
    front = broadcast(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    rows, columns, size = x1.shape[-2], x2.shape[-2], x1.shape[-1]
    if len(front) > 3 or 0 in (*front, rows, columns, size):
        return NotDrawn("it is empty, or has more dims than there are letters")
    many = max(rows, columns) > BY_PRODUCT and "if_necessary" in compute_mode
    if p == 2 and (many or compute_mode == "use_mm_for_euclid_dist"):
        return NotDrawn(
            "torch takes it from a matrix product, which rounds; up to "
            f"{BY_PRODUCT} rows are drawn"
        )
    text = "mnl"[: len(front)]
    first = build_broadcast_index(
        tuple(x1.shape), (*front, rows, size), list_letters(f"{text}ik")
    )
    second = build_broadcast_index(
        tuple(x2.shape), (*front, columns, size), list_letters(f"{text}jk")
    )
    apart = IndexMap(
        (*front, rows, columns, size),
        (Read("x1", first), Read("x2", second)),
        term="sub",
        letters=(*text, *"ijk"),
    )
    words = f"Every row of `x1` against every row of `x2`: the {p:g}-norm of what "
    return _norm_of(apart, p, (*text, *"ij"), f"{words}they differ by.")


@index_map("torch.pairwise_distance", "torch.nn.functional.pairwise_distance")
def pairwise_distance(
    x1: Meta, x2: Meta, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    shape = broadcast(tuple(x1.shape), tuple(x2.shape))
    if len(shape) > 4 or 0 in shape or not shape:
        return NotDrawn("it is empty, or has more dims than there are letters")
    if keepdim:
        return NotDrawn("it keeps its last dim; without `keepdim` it is drawn")
    text = "ijmn"[: len(shape) - 1]
    letters = list_letters(f"{text}k")
    apart = IndexMap(
        shape,
        (Read("x1", build_broadcast_index(tuple(x1.shape), shape, letters)),
         Read("x2", build_broadcast_index(tuple(x2.shape), shape, letters))),
        term="sub", letters=(*text, "k"), then=(Then("add", (constant(eps),)),),
    )  # fmt: skip
    words = f"The {p:g}-norm, along the last dim, of what they differ by, plus {eps:g}."
    return _norm_of(apart, p, tuple(text), words)


def _norm_of(apart: IndexMap, p: float, letters: tuple[str, ...], words: str) -> Any:
    """Return the norm, over its last letter, of the stage of differences."""
    last = apart.letters[-1]
    return IndexMap(
        apart.shape[:-1],
        (Read("apart", tuple(map(Letter, apart.letters))),),
        (Loop(last, apart.shape[-1]),),
        combine="vector_norm",
        options=(("ord", p),),
        letters=letters,
        stages=(Stage("apart", apart),),
        sentence=words,
    )


@index_map("torch.kron", "torch.Tensor.kron")
def kron(input: Meta, other: Meta, *, out: Any = None) -> Any:
    rank = max(len(input.shape), len(other.shape))
    if rank > MOST:
        return NotDrawn("it has more dims than there are letters")
    letters = out_letters(rank)
    counts, sizes = _padded(tuple(input.shape), rank), _padded(tuple(other.shape), rank)
    blocks, inside = [], []
    for letter, count, size in zip(letters, counts, sizes, strict=True):
        blocks.append(letter // max(size, 1) if count != 1 else number(0))
        place: Expression = letter if count == 1 else letter % max(size, 1)
        inside.append(place if size != 1 else number(0))
    return IndexMap(
        tuple(count * size for count, size in zip(counts, sizes, strict=True)),
        (
            Read("input", tuple(blocks[rank - len(input.shape) :])),
            Read("other", tuple(inside[rank - len(other.shape) :])),
        ),
        term="product",
        sentence="Each element of `input` becomes a block: that element times `other`.",
    )


def _padded(shape: Shape, rank: int) -> Shape:
    """Return the shape with leading dims of size 1 added, up to `rank` dims."""
    return (1,) * (rank - len(shape)) + shape


@index_map("torch.trace", "torch.Tensor.trace")
def trace(input: Meta) -> Any:
    u = Letter("u")
    size = min(input.shape)
    words = f"The sum of the {size} elements on the diagonal."
    return IndexMap(
        (), (Read("input", (u, u)),), (Loop("u", size),), combine="sum", sentence=words
    )
