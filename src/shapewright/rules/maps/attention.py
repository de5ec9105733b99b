"""Index maps of attention with its stages: scores, what a mask allows, weights, a sum.

As a person writes it, for a causal call::

    scores[n, h, q, k] = (sum over e of query[n, h, q, e] * key[n, h, k, e]) / sqrt(E)
    allowed[n, h, q, k] = scores[n, h, q, k] if k <= q, else -inf
    weights[n, h, q, k] = softmax over u of allowed[n, h, q, u], at k
    out[n, h, q, d] = sum over k <= q of weights[n, h, q, k] * value[n, h, k, d]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, sqrt

from shapewright.dims.expression import Expression, Letter, number
from shapewright.rules.broadcasting import broadcast
from shapewright.rules.maps.index_map import (
    AtMost,
    Condition,
    Element,
    Equal,
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Stage,
    Then,
    constant,
    index_map,
)
from shapewright.rules.maps.lettering import letters_of, stretched
from shapewright.rules.meta import Meta

Shape = tuple[int, ...]
FRONT = {0: "", 1: "n", 2: "nh", 3: "mnh", 4: "lmnh"}
"""Letters of the dims before rows and features, by how many there are."""


@index_map(
    "torch.nn.functional.scaled_dot_product_attention",
    "torch._C._nn.scaled_dot_product_attention",
)
def attention(
    query: Meta,
    key: Meta,
    value: Meta,
    attn_mask: Meta | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> IndexMap | NotDrawn:
    if said := undrawn((query, key, value), attn_mask, dropout_p, is_causal):
        return NotDrawn(said)
    shapes = {"query": tuple(query.shape), "key": tuple(key.shape),
              "value": tuple(value.shape)}  # fmt: skip
    times = dict.fromkeys(shapes, 1)
    if enable_gqa:
        heads = {name: shape[-3] for name, shape in shapes.items()}
        times = {name: heads["query"] // heads[name] for name in shapes}
    front = broadcast(
        *(heads_of(shape, times[name])[:-2] for name, shape in shapes.items())
    )
    if len(front) not in FRONT:
        return NotDrawn("it has more dims than there are letters")
    letters = FRONT[len(front)]

    def seen(name: str, rows: str) -> Read:
        wide = heads_of(shapes[name], times[name])
        own = letters_of(letters + rows)
        at = stretched(wide, (*front, *wide[-2:]), own)
        if times[name] > 1:
            at = (*at[:-3], own[-3] // times[name], *at[-2:])
        return Read(name, at)

    (queries, width), keys = shapes["query"][-2:], shapes["key"][-2]
    square = (*front, queries, keys)
    scores = scored(seen("query", "qe"), seen("key", "ke"), square, letters, scale,
                    width)  # fmt: skip
    where: tuple[Condition, ...] = ()
    q, k = letters_of("qk")
    if is_causal:
        where = (AtMost(k, q),)
    if attn_mask is not None:
        at = stretched(tuple(attn_mask.shape), square, letters_of(f"{letters}qk"))
        if attn_mask.dtype == "bool":
            where = (Equal(Element("attn_mask", at), number(1)),)
        else:
            scores = replace(scores, then=(*scores.then, added("attn_mask", at)))
    # A query that may read no key gets zeros, which a plain softmax would not give.
    function = "softmax" if attn_mask is None else "_safe_softmax"
    words = said_of(keys, times["key"], attn_mask, is_causal)
    return IndexMap(
        (*front, queries, shapes["value"][-1]),
        (Read("weights", letters_of(f"{letters}qk")), seen("value", "kd")),
        (Loop("k", keys),),
        where,
        term="product",
        combine="sum",
        letters=(*letters, "q", "d"),
        sentence=words,
        stages=weighed(scores, where, function),
    )


def heads_of(shape: Shape, times: int) -> Shape:
    """The shape once each head is repeated so many times."""
    return shape if times == 1 else (*shape[:-3], shape[-3] * times, *shape[-2:])


def undrawn(
    given: Sequence[Meta], mask: Meta | None, dropout: float, causal: bool
) -> str:
    """Why a call is not drawn, if so."""
    if any(0 in meta.shape for meta in given):
        return "it has no elements"
    if dropout:
        return "which weights it drops is random"
    if mask is not None and causal:
        return "not every kernel of torch takes `attn_mask` and `is_causal` together"
    if not all(getattr(meta, "finite", True) for meta in given):
        return "not all elements are finite: NaN spreads differently in each kernel"
    return ""


def scored(
    one: Read, other: Read, square: Shape, letters: str, scale: float | None, width: int
) -> IndexMap:
    """The scores: products of the features of a query and a key, scaled."""
    scaled = Then("div", (constant(sqrt(width)),))
    if scale is not None:
        scaled = Then("mul", (constant(scale),))
    return IndexMap(
        square,
        (one, other),
        (Loop("e", width),),
        term="product",
        combine="sum",
        letters=(*letters, "q", "k"),
        then=(scaled,),
    )


def added(mask: str, at: tuple[Expression, ...]) -> Then:
    """A mask of numbers, which is added to the scores."""
    return Then("add", (Read(mask, at),))


def weighed(
    scores: IndexMap, where: tuple[Condition, ...], function: str
) -> tuple[Stage, ...]:
    """The stages from scores to weights; a score that is not allowed is -inf."""
    stages = [Stage("scores", scores)]
    at = tuple(map(Letter, scores.letters))
    if where:
        allowed = Read("scores", at, where)
        more = IndexMap(scores.shape, (allowed,), start=-inf, letters=scores.letters)
        stages.append(Stage("allowed", more))
    weights = IndexMap(
        scores.shape,
        (Read(stages[-1].name, (*at[:-1], Letter("u"))),),
        (Loop("u", scores.shape[-1]),),
        combine=function,
        at=at[-1],
        letters=scores.letters,
    )
    return (*stages, Stage("weights", weights))


def said_of(keys: int, times: int, mask: Meta | None, causal: bool) -> str:
    """What attention does, in words."""
    words = (
        f"Each query is compared with {keys} keys: the products of their features, "
        "summed and scaled, are the scores. A softmax over the keys makes weights of "
        "them, and what comes out is the sum of the values, times their weights."
    )
    if times > 1:
        words += f" Every {times} heads of the query share a head of key and value."
    if causal:
        words += " Query `q` reads keys 0 to `q` only."
    elif mask is not None and mask.dtype == "bool":
        words += " A query reads the keys for which `attn_mask` is true, and gets 0 "
        words += "where there are none."
    elif mask is not None:
        words += " `attn_mask` is added to the scores; a key at -inf is not read."
    return words
