"""Index maps of multi-head attention, as `nn.MultiheadAttention` calls it.

Its stages: three projections, then attention with the features cut into heads, whose
results stand side by side again, and a last projection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shapewright.dims.expression import Expression, Letter, number
from shapewright.rules.maps.attention import added, scored, weighed
from shapewright.rules.maps.index_map import (
    Condition,
    Element,
    Equal,
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Stage,
    index_map,
)
from shapewright.rules.maps.lettering import letters_of
from shapewright.rules.meta import Meta

PROJECTED = {"query": "queries", "key": "keys", "value": "values"}
"""The stage that each tensor is projected to."""


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
    given = (query, key, value)
    if training and dropout_p:
        return NotDrawn("which weights it drops is random")
    if bias_k is not None or add_zero_attn or static_k is not None:
        return NotDrawn("it adds rows behind the keys")
    if any(0 in meta.shape for meta in given):
        return NotDrawn("it has no elements")
    if not all(getattr(meta, "finite", True) for meta in given):
        return NotDrawn("not all elements are finite")
    batched = len(query.shape) == 3
    batch = (query.shape[1],) if batched else ()
    n = "n" if batched else ""
    width, (rows, keys) = query.shape[-1], (query.shape[0], key.shape[0])
    stages = list(
        projections(given, n, width, in_proj_bias is not None, use_separate_proj_weight)
    )
    each = width // num_heads
    feature = Letter("h") * each + Letter("e")
    at = letters_of(n)
    scores = scored(
        Read("queries", (Letter("q"), *at, feature)),
        Read("keys", (Letter("k"), *at, feature)),
        (*batch, num_heads, rows, keys), f"{n}h", None, each,
    )  # fmt: skip
    where: tuple[Condition, ...] = ()
    for name, mask, place in (
        ("attn_mask", attn_mask, masked_at(attn_mask, n, num_heads)),
        ("key_padding_mask", key_padding_mask, (*at, Letter("k"))),
    ):
        if mask is not None and mask.dtype == "bool":
            where += (Equal(Element(name, place), number(0)),)
        elif mask is not None:
            scores = replace(scores, then=(*scores.then, added(name, place)))
    if where and len(scores.then) > 1:
        return NotDrawn("one of its masks is of bools, the other of numbers")
    masked = attn_mask is not None or key_padding_mask is not None
    safe = masked and not need_weights
    stages += weighed(scores, where, "_safe_softmax" if safe else "softmax")
    heads = IndexMap(
        (rows, *batch, width),
        (Read("weights", (*at, Letter("f") // each, *letters_of("qk"))),
         Read("values", (Letter("k"), *at, Letter("f")))),
        (Loop("k", keys),), term="product", combine="sum",
        letters=("q", *n, "f"),
    )  # fmt: skip
    stages.append(Stage("heads", heads))
    made = replace(
        product("heads", "q", n, "out_proj_weight", number(0), (rows, *batch, width),
                out_proj_weight.shape[0],
                "out_proj_bias" if out_proj_bias is not None else None),
        stages=tuple(stages),
        sentence=said_of(num_heads, each, bool(where)),
    )  # fmt: skip
    if not need_weights:
        return made
    return made, shown_weights(stages, batch, n, num_heads, average_attn_weights)


def masked_at(mask: Meta | None, n: str, heads: int) -> tuple[Expression, ...]:
    """Where the mask is read: it may be one for all, or one for each head."""
    q, k = letters_of("qk")
    if mask is None or len(mask.shape) == 2 or mask.shape[0] == 1:
        return (q, k) if mask is None or len(mask.shape) == 2 else (number(0), q, k)
    head: Expression = Letter("h")
    return (Letter("n") * heads + head if n else head, q, k)


def projections(
    given: tuple[Meta, ...], n: str, width: int, bias: bool, separate: bool
) -> Iterator[Stage]:
    """Query, key and value times their part of the weights."""
    for place, ((name, made), meta) in enumerate(
        zip(PROJECTED.items(), given, strict=True)
    ):
        weight = f"{name[0]}_proj_weight" if separate else "in_proj_weight"
        first = number(width * place)
        row = "q" if name == "query" else "k"
        yield Stage(
            made,
            product(name, row, n, weight, number(0) if separate else first,
                    tuple(meta.shape), width, "in_proj_bias" if bias else None, first),
        )  # fmt: skip


def product(
    name: str, row: str, n: str, weight: str, first: Expression,
    shape: tuple[int, ...], outputs: int, bias: str | None,
    first_bias: Expression | None = None,
) -> IndexMap:  # fmt: skip
    """`x @ weight.T + bias`, with rows of the weights from `first` on."""
    front, out = letters_of(row + n), Letter("o")
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


def shown_weights(
    stages: list[Stage], batch: tuple[int, ...], n: str, heads: int, averaged: bool
) -> IndexMap:
    """The second output: the weights, averaged over the heads or of each head."""
    before = [stage for stage in stages if stage.name != "heads"]
    square = before[-1].map.shape
    read = Read("weights", letters_of(f"{n}hqk"))
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


def said_of(heads: int, each: int, masked: bool) -> str:
    """What it does, in words."""
    words = (
        f"Query, key and value are projected, and their features cut into {heads} "
        f"heads of {each}. In each head the weights are a softmax of the scores over "
        "the keys; the sums of the values, times the weights, stand side by side "
        "again and are projected."
    )
    return words + (" A key is left out where a mask is true." if masked else "")
