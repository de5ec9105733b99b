"""Index maps of `gather`, `scatter`, `index_add`, `index_put`, `masked_scatter` and
related functions.

Each output position reads all elements that are written to it: these are summed, or
the last one remains.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    MOST,
    build_broadcast_index,
    index_at,
    list_sizes,
)
from shapewright.index_maps.index_map import (
    LOOPS,
    Element,
    Equal,
    IndexMap,
    Listed,
    Loop,
    NotDrawn,
    Read,
    Within,
    constant,
    index_map,
    loop_letters,
    out_letters,
)
from shapewright.operators.indexing.index_map import (
    Cut,
    IndexedDim,
    Item,
    Uncovered,
    common,
    resolved,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.promotion_and_broadcasting import broadcast
from shapewright.sizes.expressions import Expression, number


def _element(tensor: str, letters: tuple[Expression, ...]) -> Element:
    """Return the element of an integer tensor at the given letters."""
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
    at[dim] = _element("index", out_letters(len(shape)))
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
    places = _stretch_letters(letters, tuple(indices.shape), keep=dim)
    at = list(_stretch_letters(letters, tuple(input.shape), keep=dim))
    at[dim] = _element("indices", places) % input.shape[dim]
    words = (
        f"`gather` along dim {dim}, with the other dims broadcast and negative "
        "indices counted from the end."
    )
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)


def _stretch_letters(
    letters: tuple[Expression, ...], shape: tuple[int, ...], keep: int
) -> tuple[Expression, ...]:
    """Return letters that read dims of size 1, except dim `keep`, at index 0."""
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
    at[dim] = _element("index", (at[dim],) if index.shape else ())
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
    return _scattered(input, dim, index, source, "src", "last")


@index_map("torch.scatter_add", "torch.Tensor.scatter_add", "torch.Tensor.scatter_add_")
def scatter_add(input: Meta, dim: int, index: Meta, src: Meta) -> Any:
    return _scattered(input, dim, index, src, "src", "sum")


def _scattered(
    input: Meta, dim: int, index: Meta, source: Any, name: str, combine: str
) -> Any:
    """Return the map of the input's elements combined with the elements of `source`."""
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
    hit = Equal(_element("index", at), letters[dim])
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


NOT_KNOWN = "the values of its mask are not known"


# -- slices along a dim ----------------------------------------------------------------


def _sent_along(
    input: Meta,
    dim: int,
    index: Meta,
    source: Meta | Read,
    combine: str,
    description: str,
) -> Any:
    """Return the map of a write of whole slices to the rows that `index` names.

    A step writes the element of `source` at its position, or the one that it names.
    """
    rank = len(input.shape)
    if not rank or not index.shape or rank >= MOST:
        return NotDrawn(
            "it has no dims to go along" if rank < MOST else "too many dims"
        )
    if combine == "sum" and input.dtype == "bool":
        return NotDrawn("sums of bools are bools")
    dim %= rank
    letters = out_letters(rank)
    loops, (u,) = loop_letters(index.shape[0])
    if not isinstance(source, Read):
        at = (*letters[:dim], u, *letters[dim + 1 :])
        source = Read("source", at if source.shape else ())
    return IndexMap(
        tuple(input.shape),
        (source,),
        loops,
        (Equal(_element("index", (u,)), letters[dim]),),
        combine=combine,
        start=Read("input", letters),
        sentence=f"Whole slices along dim {dim}: {description}",
    )


@index_map("torch.index_add", "torch.Tensor.index_add", "torch.Tensor.index_add_")
def index_add(
    input: Meta, dim: int, index: Meta, source: Meta, *, alpha: Any = 1, out: Any = None
) -> Any:
    description = "slice `u` of `source` is added to the one that `index[u]` names."
    drawn = _sent_along(input, dim, index, source, "sum", description)
    if isinstance(drawn, NotDrawn) or alpha == 1:
        return drawn
    return replace(drawn, term="product", reads=(*drawn.reads, constant(alpha)))


@index_map("torch.index_copy", "torch.Tensor.index_copy", "torch.Tensor.index_copy_")
def index_copy(
    input: Meta, dim: int, index: Meta, source: Meta, *, out: Any = None
) -> Any:
    description = "slice `u` of `source` replaces the one that `index[u]` names."
    return _sent_along(input, dim, index, source, "last", description)


@index_map("torch.index_fill", "torch.Tensor.index_fill", "torch.Tensor.index_fill_")
def index_fill(input: Meta, dim: int, index: Meta, value: Any) -> Any:
    sent = Read("value", ()) if hasattr(value, "shape") else constant(value)
    return _sent_along(
        input, dim, index, sent, "last", "those that `index` names hold one number."
    )


# -- places along several dims ---------------------------------------------------------


@index_map("torch.index_put", "torch.Tensor.index_put", "torch.Tensor.index_put_",
           "torch.index_put_")  # fmt: skip
def index_put(input: Meta, indices: Any, values: Meta, accumulate: bool = False) -> Any:
    shape = tuple(input.shape)
    names = [f"indices.{n}" for n in range(len(indices))]
    if any(index is None for index in indices) or len(shape) > MOST:
        return NotDrawn("some of its dims are skipped, or there are too many")
    if accumulate and input.dtype == "bool":
        return NotDrawn("sums of bools are bools")
    try:
        items = resolved(shape, tuple(indices), names)
    except Uncovered as why:
        return NotDrawn(str(why))
    taken, rest = _leading(items)
    if taken is None:
        return NotDrawn("one of its indices is a number without dims")
    group = common([dim.shape for dim in taken])
    letters = out_letters(len(shape))
    if len(group) > len(LOOPS):
        return NotDrawn("its indices have too many dims")
    loops, inner = loop_letters(*group)
    own = letters[len(taken) :]
    whole = (*group, *(cut.size for cut in rest))
    verb = "is added to" if accumulate else "replaces"
    return IndexMap(
        shape,
        (
            Read(
                "values",
                build_broadcast_index(tuple(values.shape), whole, (*inner, *own)),
            ),
        ),
        loops,
        tuple(
            Equal(dim.at(inner), letter)
            for dim, letter in zip(taken, letters, strict=False)
        ),
        combine="sum" if accumulate else "last",
        start=Read("input", letters),
        sentence=f"The indices select {prod(group)} positions together: each of "
        f"`values` {verb} what is at its place.",
    )


def _leading(items: list[Item]) -> tuple[list[IndexedDim] | None, list[Cut]]:
    """Return the indexed dims, or None if not drawable, and the sliced dims."""
    taken = [item for item in items if isinstance(item, IndexedDim)]
    rest = [item for item in items if isinstance(item, Cut)]
    plain = len(taken) + len(rest) == len(items) and taken
    return (taken if plain else None), rest


# -- scatter with a function -----------------------------------------------------------

REDUCING = {"sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod",
            "mean": "mean", "amax": "amax", "amin": "amin"}  # fmt: skip


@index_map("torch.scatter_reduce", "torch.Tensor.scatter_reduce",
           "torch.Tensor.scatter_reduce_")  # fmt: skip
def scatter_reduce(
    input: Meta, dim: int, index: Meta, src: Any, reduce: str, *,
    include_self: bool = True, out: Any = None,
) -> Any:  # fmt: skip
    function = REDUCING[reduce]
    drawn = _scattered(input, dim, index, src, "src", "sum")
    if isinstance(drawn, NotDrawn) or (function == "sum" and include_self):
        return drawn
    if input.dtype == "bool" or (function == "mean" and "int" in input.dtype):
        return NotDrawn(f"a {function} of {input.dtype} is rounded")
    if function == "sum":
        return NotDrawn("what stood there is left out of a sum only where there is one")
    words = f"The {reduce} of all elements of `src` that go to a place by `index`"
    if not include_self:
        words += "; where there are none, what stood there."
        return replace(drawn, combine=function, sentence=words)
    # One more step, after all others, is what stood there.
    (loop,) = drawn.loops
    last = _out_letter(loop)
    sent = Read("src", drawn.reads[0].indices, (Within(last, 0, loop.size),
                                               *drawn.conditions))  # fmt: skip
    assert isinstance(drawn.start, Read)
    stood = Read("input", drawn.start.indices, (Equal(last, last * 0 + loop.size),))
    return replace(
        drawn,
        reads=(sent, stood),
        loops=(Loop(loop.letter, loop.size + 1),),
        conditions=(),
        start=None,
        combine=function,
        sentence=f"{words}, and of what stood there.",
    )


def _out_letter(loop: Loop) -> Expression:
    """Return the letter of a loop."""
    (_, (letter,)) = loop_letters(loop.size)
    assert letter.name == loop.letter
    return letter


# -- masks -----------------------------------------------------------------------------


def _true_at(mask: Meta, shape: tuple[int, ...]) -> list[tuple[int, ...]] | None:
    """Return the positions in `shape` at which the broadcast mask is True."""
    values = getattr(mask, "values", None)
    if values is None:
        return None
    positions = []
    for at in product(*map(range, shape)):
        held = values
        own = at[len(shape) - len(mask.shape) :]
        for place, size in zip(own, mask.shape, strict=True):
            held = held[place if size != 1 else 0]
        if held:
            positions.append(at)
    return positions


@index_map("torch.masked_select", "torch.Tensor.masked_select")
def masked_select(input: Meta, mask: Meta, *, out: Any = None) -> Any:
    shape = broadcast(tuple(input.shape), tuple(mask.shape))
    places = _true_at(mask, shape)
    if places is None:
        return NotDrawn(NOT_KNOWN)
    (i,) = out_letters(1)
    first = len(shape) - len(input.shape)
    at = tuple(
        Listed(tuple(place[first + d] for place in places), (i,))
        if size != 1
        else i * 0
        for d, size in enumerate(input.shape)
    )
    words = f"The {len(places)} elements where `mask` is true, in row-major order."
    return IndexMap((len(places),), (Read("input", at),), sentence=words)


@index_map("torch.masked_scatter", "torch.Tensor.masked_scatter",
           "torch.Tensor.masked_scatter_")  # fmt: skip
def masked_scatter(input: Meta, mask: Meta, source: Meta) -> Any:
    shape = broadcast(tuple(input.shape), tuple(mask.shape))
    places = _true_at(mask, shape)
    if places is None or len(shape) > MOST or not shape:
        return NotDrawn(NOT_KNOWN)
    letters = out_letters(len(shape))
    number_of = {place: n for n, place in enumerate(places)}

    def ranks(at: tuple[int, ...]) -> Any:
        if len(at) == len(shape):
            return number_of.get(at, 0)
        return tuple(ranks((*at, here)) for here in range(shape[len(at)]))

    rank = Listed(ranks(()), letters)
    sizes = list_sizes(shape)
    own = build_broadcast_index(tuple(mask.shape), shape)
    when = (Equal(_element("mask", own), letters[0] * 0 + 1),)
    return IndexMap(
        shape,
        (
            Read("source", index_at(rank, tuple(source.shape), sizes), when),
            Read("input", build_broadcast_index(tuple(input.shape), shape)),
        ),
        sentence="Where `mask` is true, in row-major order, the next element of "
        "`source`.",
    )


@index_map("torch.nonzero", "torch.Tensor.nonzero", "torch.argwhere",
           "torch.Tensor.argwhere")  # fmt: skip
def nonzero(input: Meta, *, as_tuple: bool = False, out: Any = None) -> Any:
    places = _true_at(input, tuple(input.shape))
    if places is None:
        return NotDrawn("how many rows it gives depends on values that are not known")
    if as_tuple or not input.shape:
        return NotDrawn("it gives a tensor for each dim; as one tensor it is drawn")
    words = f"The indices of the {len(places)} elements that are not 0, a row each."
    value = Listed(tuple(places), out_letters(2))
    return IndexMap((len(places), len(input.shape)), (), value=value, sentence=words)
