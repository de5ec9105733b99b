"""Index maps of gather and scatter and their kin: indices that are values."""

from __future__ import annotations

from typing import Any

from shapewright.dims.expression import Expression, number
from shapewright.rules.maps.index_map import (
    Element,
    Equal,
    IndexMap,
    NotDrawn,
    Read,
    Within,
    index_map,
    loop_letters,
    out_letters,
)
from shapewright.rules.meta import Meta


def element(tensor: str, letters: tuple[Expression, ...]) -> Element:
    """The value of an integer tensor at these letters."""
    return Element(tensor, letters)


@index_map("torch.gather", "torch.Tensor.gather")
def gather(
    input: Meta, dim: int, index: Meta, *, sparse_grad: bool = False
) -> IndexMap | NotDrawn:
    shape = tuple(index.shape)
    at: list[Expression] = list(out_letters(len(shape)))
    if not shape or not input.shape:  # one element, whatever the index
        return IndexMap(shape, (Read("input", (number(0),) * len(input.shape)),))
    dim %= len(shape)
    at[dim] = element("index", out_letters(len(shape)))
    words = f"Each output element stays where it is, but takes dim {dim} from `index`."
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)


@index_map("torch.take_along_dim", "torch.Tensor.take_along_dim")
def take_along_dim(input: Meta, indices: Meta, dim: int | None = None) -> Any:
    if dim is None or len(input.shape) != len(indices.shape):
        return NotDrawn("it reads the flattened tensor")
    rank = len(input.shape)
    dim %= rank
    pairs = list(zip(input.shape, indices.shape, strict=True))
    shape = tuple(
        pairs[d][1] if d == dim else max(pairs[d], key=lambda size: size != 1)
        for d in range(rank)
    )
    if any(0 in pair for pair in pairs):
        return NotDrawn("one of its tensors is empty")
    shape = tuple(n if d == dim else max(a, n) for d, (a, n) in enumerate(pairs))
    letters = out_letters(rank)
    places = stretched(letters, tuple(indices.shape), keep=dim)
    at = list(stretched(letters, tuple(input.shape), keep=dim))
    at[dim] = element("indices", places) % input.shape[dim]
    words = (
        f"`gather` along dim {dim}, with the other dims broadcast and negative "
        "indices counted from the end."
    )
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)


def stretched(
    letters: tuple[Expression, ...], shape: tuple[int, ...], keep: int
) -> tuple[Expression, ...]:
    """Letters where a size of 1 is read at 0, but along one dim."""
    return tuple(
        letter if size != 1 or d == keep else letter * 0
        for d, (letter, size) in enumerate(zip(letters, shape, strict=True))
    )


@index_map("torch.index_select", "torch.Tensor.index_select")
def index_select(input: Meta, dim: int, index: Meta) -> Any:
    rank = len(input.shape)
    if not rank:
        return NotDrawn("it has no dims to select along")
    dim %= rank
    count = index.shape[0] if index.shape else 1
    shape = (*input.shape[:dim], count, *input.shape[dim + 1 :])
    at: list[Expression] = list(out_letters(rank))
    at[dim] = element("index", (at[dim],) if index.shape else ())
    words = f"Whole slices along dim {dim}, in the order that `index` gives."
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)


@index_map("torch.scatter", "torch.Tensor.scatter", "torch.Tensor.scatter_")
def scatter(
    input: Meta, dim: int, index: Meta, src: Any = None, value: Any = None, **more: Any
) -> Any:
    if more:
        return NotDrawn(
            "it reduces by another function than a sum; `scatter_add` is drawn"
        )
    source = value if src is None else src
    return scattered(input, dim, index, source, "src", "last")


@index_map("torch.scatter_add", "torch.Tensor.scatter_add", "torch.Tensor.scatter_add_")
def scatter_add(input: Meta, dim: int, index: Meta, src: Meta) -> Any:
    return scattered(input, dim, index, src, "src", "sum")


def scattered(
    input: Meta, dim: int, index: Meta, source: Any, name: str, combine: str
) -> Any:
    """The output's element is the input's, then what `source` sends to its place."""
    rank = len(input.shape)
    if not rank or len(index.shape) != rank:
        return NotDrawn("it has no dims to scatter along")
    if not hasattr(source, "shape") or (combine == "last" and not source.shape):
        return NotDrawn("it writes one number; only tensors are drawn")
    dim %= rank
    letters = out_letters(rank)
    loops, inner = loop_letters(index.shape[dim])
    at = (*letters[:dim], inner[0], *letters[dim + 1 :])
    inside = [
        Within(letter, 0, size)
        for d, (letter, size) in enumerate(zip(letters, index.shape, strict=True))
        if d != dim and size < input.shape[d]
    ]
    hit = Equal(element("index", at), letters[dim])
    verb = "is added to" if combine == "sum" else "replaces"
    words = (
        f"Each element of `{name}` stays where it is, but goes to the place along dim "
        f"{dim} that `index` names: it {verb}"
    )
    return IndexMap(
        tuple(input.shape),
        (Read(name, at),),
        loops,
        (*inside, hit),
        combine=combine,
        start=Read("input", letters),
        sentence=f"{words} what stands there.",
    )
