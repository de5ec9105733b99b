"""What multi-head attention needs: features, one batch, masks of its own layout."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dtype_unmet, is_tensor, resized, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import FLOATING


@needs("torch.nn.functional.multi_head_attention_forward")
def multi_head_attention(
    query: Meta,
    key: Meta,
    value: Meta,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any = None,
    in_proj_bias: Any = None,
    bias_k: Any = None,
    bias_v: Any = None,
    add_zero_attn: bool = False,
    dropout_p: float = 0.0,
    out_proj_weight: Any = None,
    out_proj_bias: Any = None,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """`(time, batch, features)` inside, whatever `batch_first` says outside."""
    wrong = of_time(query, key, value)
    if wrong is not None:
        return wrong
    q, k = query.shape, key.shape
    if q[-1] != embed_dim_to_check:
        return Unmet(
            "attention-features",
            f"{{op}} takes {embed_dim_to_check} features in the last dim of {{query}},"
            f" got {q[-1]}",
            Place("query", len(q) - 1),
            Place("out_proj_weight", 0),
            q[-1],
            embed_dim_to_check,
            tuple(
                Grant(name, resized(each, len(each.shape) - 1, embed_dim_to_check))
                for name, each in (("query", query), ("key", key), ("value", value))
                if name == "query"
                or (each.shape[-1] == q[-1] and not use_separate_proj_weight)
            ),
        )
    wrong = of_memory(
        query, key, value, None if use_separate_proj_weight else embed_dim_to_check
    )
    if wrong is not None:
        return wrong
    sources = k[0]
    batch = q[1] if len(q) == 3 else None
    if key_padding_mask is not None:
        wanted = (batch, sources) if batch is not None else (sources,)
        wrong = of_padding(key_padding_mask, wanted)
    if wrong is None and attn_mask is not None:
        wrong = of_forward_mask(attn_mask, q, sources, num_heads)
    weight = in_proj_weight if in_proj_weight is not None else q_proj_weight
    if wrong is not None or not is_tensor(weight):
        return wrong
    return of_weight(weight.dtype, ("query", query), ("key", key), ("value", value))


def of_weight(dtype: str, *named: tuple[str, Meta]) -> Unmet | None:
    """The dtype of the weights, for all three."""
    for name, each in named:
        if each.dtype != dtype:
            wrong = dtype_unmet(name, each, dtype, f"{{op}} computes in {dtype}")
            grants = tuple(Grant(n, Made(e.shape, dtype)) for n, e in named)
            return replace(wrong, grants=grants)
    return None


def of_time(query: Meta, key: Meta, value: Meta) -> Unmet | None:
    """Three dims each, or two without a batch."""
    rank = len(query.shape)
    if rank not in (2, 3):
        made = (1,) * (2 - rank) + query.shape
        if rank > 3:
            made = (prod(query.shape[: rank - 2]), *query.shape[rank - 2 :])
        return Unmet(
            "wrong-rank",
            f"{{op}} takes 3 dims (batch, time, features in some order), or 2, got"
            f" {rank}: {{query}} is {text(query.shape)}",
            Place("query"),
            has=rank,
            needs=3,
            grants=(Grant("query", Made(made, query.dtype)),) if rank else (),
            guessed=True,
        )
    for name, each in (("key", key), ("value", value)):
        have = len(each.shape)
        if have != rank:
            other = value if name == "key" else key
            same = len(other.shape) == rank
            made = other.shape if same else (*(1,) * (rank - have), *each.shape)[-rank:]
            return Unmet(
                "wrong-rank",
                f"{{op}} takes as many dims of {{{name}}} as of {{query}}, {rank}, got"
                f" {have}: {{{name}}} is {text(each.shape)}",
                Place(name),
                Place("query"),
                have,
                rank,
                (Grant(name, Made(made, each.dtype)),),
                guessed=True,
            )
    return None


def of_memory(query: Meta, key: Meta, value: Meta, size: int | None) -> Unmet | None:
    """Keys and values of the same batch and features."""
    q, k, v = query.shape, key.shape, value.shape
    if size is not None:
        for name, each in (("key", key), ("value", value)):
            if each.shape[-1] != size:
                last = len(each.shape) - 1
                return Unmet(
                    "attention-features",
                    f"{{op}} takes {size} features in the last dim of {{{name}}}, got"
                    f" {each.shape[-1]}: `kdim` and `vdim` allow others",
                    Place(name, last),
                    Place("query", len(q) - 1),
                    each.shape[-1],
                    size,
                    tuple(
                        Grant(n, resized(e, last, size))
                        for n, e in (("key", key), ("value", value))
                        if e.shape[-1] == each.shape[-1]
                    ),
                )
    if k[:-1] != v[:-1]:
        made = Made((*k[:-1], v[-1]), value.dtype)
        return Unmet(
            "keys-and-values",
            f"{{op}} needs a value for each key: {{key}} is {text(k)} and {{value}}"
            f" {text(v)} (time, batch, features)",
            Place("value"),
            Place("key"),
            text(v),
            text(k),
            (Grant("value", made),),
        )
    if len(q) == 3 and q[1] != k[1]:
        return Unmet(
            "batch-dim-mismatch",
            f"{{op}} needs one batch: {{query}} has {q[1]} samples, {{key}} has {k[1]}"
            f" in (time, batch, features) {text(k)}",
            Place("key", 1),
            Place("query", 1),
            k[1],
            q[1],
            tuple(
                Grant(n, resized(e, 1, q[1]))
                for n, e in (("key", key), ("value", value))
            ),
        )
    return None


def of_padding(mask: Meta, wanted: tuple[int, ...]) -> Unmet | None:
    """Which keys of each sample are padding."""
    if mask.shape == wanted and (mask.dtype == "bool" or mask.dtype in FLOATING):
        return None
    if mask.shape == wanted:
        why = "{op} takes a mask of bools or floats"
        return dtype_unmet("key_padding_mask", mask, "bool", why)
    more = ""
    if mask.shape == wanted[::-1]:
        more = ": it is the other way round"
    return Unmet(
        "attention-mask-shape",
        f"{{op}} takes {{key_padding_mask}} as {text(wanted)} ="
        f" {'(batch, keys)' if len(wanted) == 2 else '(keys)'}, got {text(mask.shape)}"
        f"{more}",
        Place("key_padding_mask"),
        has=text(mask.shape),
        needs=text(wanted),
        grants=(Grant("key_padding_mask", Made(wanted, mask.dtype)),),
    )


def of_forward_mask(
    mask: Meta, q: tuple[int, ...], sources: int, heads: int
) -> Unmet | None:
    """One mask for all, or one for each sample and head."""
    one = (q[0], sources)
    many = ((q[1] if len(q) == 3 else 1) * heads, q[0], sources)
    if mask.shape not in (one, many):
        wanted = many if len(mask.shape) == 3 else one
        return Unmet(
            "attention-mask-shape",
            f"{{op}} takes {{attn_mask}} as {text(one)} = (queries, keys), or"
            f" {text(many)} = (batch·heads, queries, keys), got {text(mask.shape)}",
            Place("attn_mask"),
            has=text(mask.shape),
            needs=text(wanted),
            grants=(Grant("attn_mask", Made(wanted, mask.dtype)),),
        )
    if mask.dtype != "bool" and mask.dtype not in FLOATING:
        why = "{op} takes a mask of bools or floats"
        return dtype_unmet("attn_mask", mask, "bool", why)
    return None
