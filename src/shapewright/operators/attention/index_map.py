"""Index maps of scaled dot product attention and multi-head attention, in stages.

Written by hand, for a causal call::

    scores[n, h, q, k] = (sum over e of query[n, h, q, e] * key[n, h, k, e]) / sqrt(E)
    allowed[n, h, q, k] = scores[n, h, q, k] if k <= q, else -inf
    weights[n, h, q, k] = softmax over u of allowed[n, h, q, u], at k
    out[n, h, q, d] = sum over k <= q of weights[n, h, q, k] * value[n, h, k, d]

Multi-head attention has these stages: three projections, then attention with the
features split into heads, whose results are concatenated, and a last projection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, sqrt
from typing import Any

from shapewright.index_maps.index_expressions import build_broadcast_index, list_letters
from shapewright.index_maps.index_map import (
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
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.promotion_and_broadcasting import broadcast
from shapewright.sizes.expressions import Expression, Letter, number

Shape = tuple[int, ...]
FRONT = {0: "", 1: "n", 2: "nh", 3: "mnh", 4: "lmnh"}
"""The letters of the dims before rows and features, by the number of these dims."""


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
    if reason := _undrawn((query, key, value), attn_mask, dropout_p, is_causal):
        return NotDrawn(reason)
    shapes = {"query": tuple(query.shape), "key": tuple(key.shape),
              "value": tuple(value.shape)}  # fmt: skip
    times = dict.fromkeys(shapes, 1)
    if enable_gqa:
        heads = {name: shape[-3] for name, shape in shapes.items()}
        times = {name: heads["query"] // heads[name] for name in shapes}
    front = broadcast(
        *(_heads_of(shape, times[name])[:-2] for name, shape in shapes.items())
    )
    if len(front) not in FRONT:
        return NotDrawn("it has more dims than there are letters")
    letters = FRONT[len(front)]

    def seen(name: str, rows: str) -> Read:
        wide = _heads_of(shapes[name], times[name])
        own = list_letters(letters + rows)
        at = build_broadcast_index(wide, (*front, *wide[-2:]), own)
        if times[name] > 1:
            at = (*at[:-3], own[-3] // times[name], *at[-2:])
        return Read(name, at)

    (queries, width), keys = shapes["query"][-2:], shapes["key"][-2]
    square = (*front, queries, keys)
    scores = _scored(seen("query", "qe"), seen("key", "ke"), square, letters, scale,
                    width)  # fmt: skip
    where: tuple[Condition, ...] = ()
    q, k = list_letters("qk")
    if is_causal:
        where = (AtMost(k, q),)
    if attn_mask is not None:
        at = build_broadcast_index(
            tuple(attn_mask.shape), square, list_letters(f"{letters}qk")
        )
        if attn_mask.dtype == "bool":
            where = (Equal(Element("attn_mask", at), number(1)),)
        else:
            scores = replace(scores, then=(*scores.then, _added("attn_mask", at)))
    # A query that may read no key gets zeros, which a plain softmax would not give.
    function = "softmax" if attn_mask is None else "_safe_softmax"
    words = _describe_attention(keys, times["key"], attn_mask, is_causal)
    return IndexMap(
        (*front, queries, shapes["value"][-1]),
        (Read("weights", list_letters(f"{letters}qk")), seen("value", "kd")),
        (Loop("k", keys),),
        where,
        term="product",
        combine="sum",
        letters=(*letters, "q", "d"),
        sentence=words,
        stages=_weighed(scores, where, function),
    )


def _heads_of(shape: Shape, times: int) -> Shape:
    """Return the shape after each head is repeated `times` times."""
    return shape if times == 1 else (*shape[:-3], shape[-3] * times, *shape[-2:])


def _undrawn(
    tensors: Sequence[Meta], mask: Meta | None, dropout: float, causal: bool
) -> str:
    """Return the reason why a call cannot be drawn, or "" if it can be drawn."""
    if any(0 in meta.shape for meta in tensors):
        return "it has no elements"
    if dropout:
        return "which weights it drops is random"
    if mask is not None and causal:
        return "not every kernel of torch takes `attn_mask` and `is_causal` together"
    if not all(getattr(meta, "finite", True) for meta in tensors):
        return "not all elements are finite: NaN spreads differently in each kernel"
    return ""


def _scored(
    query: Read, key: Read, square: Shape, letters: str, scale: float | None, width: int
) -> IndexMap:
    """Return the scores: scaled products of the features of queries and keys."""
    scaled = Then("div", (constant(sqrt(width)),))
    if scale is not None:
        scaled = Then("mul", (constant(scale),))
    return IndexMap(
        square,
        (query, key),
        (Loop("e", width),),
        term="product",
        combine="sum",
        letters=(*letters, "q", "k"),
        then=(scaled,),
    )


def _added(mask: str, at: tuple[Expression, ...]) -> Then:
    """Return the step that adds a numeric mask to the scores."""
    return Then("add", (Read(mask, at),))


def _weighed(
    scores: IndexMap, where: tuple[Condition, ...], function: str
) -> tuple[Stage, ...]:
    """Return the stages that turn scores into weights; a masked score is -inf."""
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


def _describe_attention(keys: int, times: int, mask: Meta | None, causal: bool) -> str:
    """Describe attention in words."""
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


PROJECTED = {"query": "queries", "key": "keys", "value": "values"}
"""The name of the stage that holds each projected tensor."""


@index_map("torch.nn.functional.multi_head_attention_forward")
def multi_head_attention(
    query: Meta, key: Meta, value: Meta, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Meta | None, in_proj_bias: Meta | None, bias_k: Meta | None,
    bias_v: Meta | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Meta,
    out_proj_bias: Meta | None, training: bool = True,
    key_padding_mask: Meta | None = None, need_weights: bool = True,
    attn_mask: Meta | None = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Meta | None = None, k_proj_weight: Meta | None = None,
    v_proj_weight: Meta | None = None, static_k: Meta | None = None,
    static_v: Meta | None = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:  # fmt: skip
    tensors = (query, key, value)
    if training and dropout_p:
        return NotDrawn("which weights it drops is random")
    if bias_k is not None or add_zero_attn or static_k is not None:
        return NotDrawn("it adds rows after the keys")
    if any(0 in meta.shape for meta in tensors):
        return NotDrawn("it has no elements")
    if not all(getattr(meta, "finite", True) for meta in tensors):
        return NotDrawn("not all elements are finite")
    batched = len(query.shape) == 3
    batch = (query.shape[1],) if batched else ()
    n = "n" if batched else ""
    width, (rows, keys) = query.shape[-1], (query.shape[0], key.shape[0])
    stages = list(
        _projections(
            tensors, n, width, in_proj_bias is not None, use_separate_proj_weight
        )
    )
    head_width = width // num_heads
    feature = Letter("h") * head_width + Letter("e")
    at = list_letters(n)
    scores = _scored(
        Read("queries", (Letter("q"), *at, feature)),
        Read("keys", (Letter("k"), *at, feature)),
        (*batch, num_heads, rows, keys), f"{n}h", None, head_width,
    )  # fmt: skip
    where: tuple[Condition, ...] = ()
    for name, mask, place in (
        ("attn_mask", attn_mask, _masked_at(attn_mask, n, num_heads)),
        ("key_padding_mask", key_padding_mask, (*at, Letter("k"))),
    ):
        if mask is not None and mask.dtype == "bool":
            where += (Equal(Element(name, place), number(0)),)
        elif mask is not None:
            scores = replace(scores, then=(*scores.then, _added(name, place)))
    if where and len(scores.then) > 1:
        return NotDrawn("one of its masks is a bool tensor, the other is not")
    masked = attn_mask is not None or key_padding_mask is not None
    safe = masked and not need_weights
    stages += _weighed(scores, where, "_safe_softmax" if safe else "softmax")
    heads = IndexMap(
        (rows, *batch, width),
        (Read("weights", (*at, Letter("f") // head_width, *list_letters("qk"))),
         Read("values", (Letter("k"), *at, Letter("f")))),
        (Loop("k", keys),), term="product", combine="sum",
        letters=("q", *n, "f"),
    )  # fmt: skip
    stages.append(Stage("heads", heads))
    output = replace(
        _product("heads", "q", n, "out_proj_weight", number(0), (rows, *batch, width),
                out_proj_weight.shape[0],
                "out_proj_bias" if out_proj_bias is not None else None),
        stages=tuple(stages),
        sentence=_describe_multihead_attention(num_heads, head_width, bool(where)),
    )  # fmt: skip
    if not need_weights:
        return output
    return output, _shown_weights(stages, batch, n, num_heads, average_attn_weights)


def _masked_at(mask: Meta | None, n: str, heads: int) -> tuple[Expression, ...]:
    """Return the indices at which the mask is read: for all heads or for each one."""
    q, k = list_letters("qk")
    if mask is None or len(mask.shape) == 2 or mask.shape[0] == 1:
        return (q, k) if mask is None or len(mask.shape) == 2 else (number(0), q, k)
    head: Expression = Letter("h")
    return (Letter("n") * heads + head if n else head, q, k)


def _projections(
    tensors: tuple[Meta, ...], n: str, width: int, bias: bool, separate: bool
) -> Iterator[Stage]:
    """Yield the stages that multiply query, key and value by their weights."""
    for place, ((name, projected), meta) in enumerate(
        zip(PROJECTED.items(), tensors, strict=True)
    ):
        weight = f"{name[0]}_proj_weight" if separate else "in_proj_weight"
        first = number(width * place)
        row = "q" if name == "query" else "k"
        yield Stage(
            projected,
            _product(name, row, n, weight, number(0) if separate else first,
                    tuple(meta.shape), width, "in_proj_bias" if bias else None, first),
        )  # fmt: skip


def _product(
    name: str, row: str, n: str, weight: str, first: Expression,
    shape: tuple[int, ...], outputs: int, bias: str | None,
    first_bias: Expression | None = None,
) -> IndexMap:  # fmt: skip
    """Return the map of `x @ weight.T + bias`, with weight rows from `first` on."""
    front, out = list_letters(row + n), Letter("o")
    start = None
    if bias is not None:
        start = Read(bias, (out + (first_bias or 0),))
    return IndexMap(
        (*shape[:-1], outputs),
        (Read(name, (*front, Letter("i"))), Read(weight, (out + first, Letter("i")))),
        (Loop("i", shape[-1]),),
        term="product",
        combine="sum",
        start=start,
        letters=(row, *n, "o"),
    )


def _shown_weights(
    stages: list[Stage], batch: tuple[int, ...], n: str, heads: int, averaged: bool
) -> IndexMap:
    """Return the map of the weights that a call returns, averaged over heads or not."""
    before = [stage for stage in stages if stage.name != "heads"]
    square = before[-1].map.shape
    read = Read("weights", list_letters(f"{n}hqk"))
    if not averaged:
        return IndexMap(
            square, (read,), letters=(*n, *"hqk"), stages=tuple(before),
            sentence="The weights of each head.",
        )  # fmt: skip
    return IndexMap(
        (*batch, *square[-2:]), (read,), (Loop("h", heads),), combine="sum",
        scale=heads, letters=(*n, *"qk"), stages=tuple(before),
        sentence=f"The weights, averaged over {heads} heads.",
    )  # fmt: skip


def _describe_multihead_attention(heads: int, head_width: int, masked: bool) -> str:
    """Describe multi-head attention in words."""
    words = (
        f"Query, key and value are projected, and their features cut into {heads} "
        f"heads of {head_width}. In each head the weights are a softmax of the scores"
        " over the keys; the sums of the values, times the weights, stand side by side "
        "again and are projected."
    )
    return words + (" A key is left out where a mask is true." if masked else "")
