"""Needs of scaled dot product attention, multi-head attention and the fused kernels of
evaluation.

`nn.TransformerEncoderLayer` and `nn.MultiheadAttention` call these kernels with one
mask, merged from the masks that they get.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Any

from shapewright.findings.codes import (
    ATTENTION_FEATURES,
    ATTENTION_MASK_SHAPE,
    BATCH_DIM_MISMATCH,
    KEYS_AND_VALUES,
    WRONG_RANK,
)
from shapewright.operators.dtype_needs import real_floats
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dtype_unmet,
    is_tensor,
    lined_up,
    resized,
    same_dtype,
    swapped,
    text,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.pointwise.needs import broadcast, clash
from shapewright.operators.promotion_and_broadcasting import FLOATING


@needs("torch.nn.functional.scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Meta,
    key: Meta,
    value: Meta,
    attn_mask: Meta | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Unmet | None:
    """Check query (..., queries, features), key and value (..., keys, features)."""
    named = ("query", query), ("key", key), ("value", value)
    for name, tensor in named:
        if len(tensor.shape) < 2:
            return _too_few(name, tensor)
    wrong = real_floats(*named) or same_dtype(*reversed(named))
    if wrong is not None:
        return wrong
    q, k, v = query.shape, key.shape, value.shape
    if q[-1] != k[-1]:
        return _features(query, key)
    fused = len(q) == 4 and q[:2] == k[:2] == v[:2] and attn_mask is None
    if k[-2] != v[-2] and not fused:  # whose kernel does not compare them
        return _of_values(key, value)
    wrong = _of_heads(query, key, value) if not enable_gqa else None
    if wrong is not None or attn_mask is None:
        return wrong
    return _of_mask(query, key, attn_mask)


def _too_few(name: str, tensor: Meta) -> Unmet:
    """Report a tensor with fewer than the 2 dims (steps, features)."""
    shape = tensor.shape
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects at least 2 dims (steps, features), got {len(shape)}: "
        f"{{{name}}}"
        f" is {text(shape)}",
        Place(name),
        has=len(shape),
        needs=2,
        grants=(Grant(name, Made((1, *shape), tensor.dtype)),) if shape else (),
        guessed=True,
    )


def _of_values(key: Meta, value: Meta) -> Unmet:
    """Report that the number of keys differs from the number of values."""
    k, v = key.shape, value.shape
    return Unmet(
        KEYS_AND_VALUES,
        f"{{op}} needs a value for each key: {{key}} is {text(k)} and {{value}}"
        f" {text(v)} (..., keys, features)",
        Place("value", len(v) - 2),
        Place("key", len(k) - 2),
        v[-2],
        k[-2],
        (Grant("value", resized(value, -2, k[-2])),) if len(k) == len(v) else (),
    )


def _features(query: Meta, key: Meta) -> Unmet:
    """Report that query and key differ in their number of features."""
    q, k = query.shape, key.shape
    message = f"{{op}} compares {{query}} {text(q)} with {{key}} {text(k)} by features:"
    grant = resized(key, len(k) - 1, q[-1])
    if len(k) > 1 and k[-2] == q[-1]:
        grant = swapped(key, len(k) - 2, len(k) - 1)
        message += f" {q[-1]} against {k[-1]}; it transposes the keys itself"
    else:
        message += f" {q[-1]} against {k[-1]}"
    return Unmet(
        ATTENTION_FEATURES,
        message,
        Place("key", len(k) - 1),
        Place("query", len(q) - 1),
        k[-1],
        q[-1],
        (Grant("key", grant),),
    )


def _of_heads(query: Meta, key: Meta, value: Meta) -> Unmet | None:
    """Check that the batch and head dims of query, key and value broadcast."""
    named = ("query", query), ("key", key), ("value", value)
    for (first, tensor), (other, other_tensor) in combinations(named, 2):
        before, behind = tensor.shape[:-2], other_tensor.shape[:-2]
        back = clash(before, behind)
        if back is None:
            continue
        x, y, at = before[-back], behind[-back], len(behind) - back
        same = len(before) == len(behind)
        return Unmet(
            BATCH_DIM_MISMATCH,
            f"{{op}} needs equal batch and heads: {{{first}}} is {text(tensor.shape)},"
            f" {{{other}}} is {text(other_tensor.shape)}, {x} against {y}",
            Place(other, at),
            Place(first, len(before) - back),
            y,
            x,
            (Grant(other, resized(other_tensor, at, x)),) if same else (),
            guessed=True,
        )
    return None


def _of_mask(query: Meta, key: Meta, mask: Meta) -> Unmet | None:
    """Check that the mask broadcasts to the scores (..., queries, keys)."""
    q, k, shape = query.shape, key.shape, mask.shape
    if mask.dtype not in ("bool", "float32", query.dtype):
        return dtype_unmet(
            "attn_mask",
            mask,
            "bool",
            f"{{op}} expects a mask of dtype bool or {query.dtype}",
        )
    scores = (*q[:-1], k[-2])
    if not 2 <= len(shape) <= len(scores):
        fitting: Any = (
            (1, k[-2]) if len(shape) < 2 else shape[len(shape) - len(scores) :]
        )
        return Unmet(
            ATTENTION_MASK_SHAPE,
            f"{{op}} lays {{attn_mask}} {text(shape)} over scores {text(scores)} ="
            " (..., queries, keys): it has at least 2 dims, and no more than these",
            Place("attn_mask"),
            has=text(shape),
            needs=text(scores),
            grants=(Grant("attn_mask", Made(fitting, mask.dtype)),),
        )
    wrong = broadcast([("scores", Made(scores, query.dtype)), ("attn_mask", mask)])
    if wrong is None:
        return None
    dim = next(
        len(shape) - b
        for b in range(1, min(len(shape), len(scores)) + 1)
        if shape[-b] not in (1, scores[-b])
    )
    message = f"{{op}} lays {{attn_mask}} {text(shape)} over scores {text(scores)} ="
    message += " (..., queries, keys)"
    fitting = [
        s if g != 1 else 1 for g, s in zip(shape[::-1], scores[::-1], strict=False)
    ][::-1]
    if len(shape) == 2 and shape == (q[0], k[-2]) and len(scores) == 4:
        message += (
            "; one row for each sample needs dims between: `mask[:, None, None, :]`"
        )
        fitting = [q[0], 1, 1, k[-2]]
    elif len(shape) == 3 and len(scores) == 4 and shape[0] == q[0]:
        message += "; one for each sample needs a dim for the heads: `mask[:, None]`"
        fitting = [q[0], 1, *fitting[-2:]]
    return Unmet(
        ATTENTION_MASK_SHAPE,
        message,
        Place("attn_mask", dim),
        has=text(shape),
        needs=text(scores),
        grants=(Grant("attn_mask", Made(tuple(fitting), mask.dtype)),),
        lines=lined_up([("attn_mask", shape)])
        if not wrong.lines
        else (wrong.lines[0].replace("{scores}", "scores"), *wrong.lines[1:]),
    )


@needs("torch.nn.functional.multi_head_attention_forward")
def multi_head_attention(
    query: Meta, key: Meta, value: Meta, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Any = None, in_proj_bias: Any = None, bias_k: Any = None,
    bias_v: Any = None, add_zero_attn: bool = False, dropout_p: float = 0.0,
    out_proj_weight: Any = None, out_proj_bias: Any = None, training: bool = True,
    key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None,
    k_proj_weight: Any = None, v_proj_weight: Any = None, *rest: Any, **options: Any,
) -> Unmet | None:  # fmt: skip
    """Check tensors `(time, batch, features)`; `batch_first` has no effect here."""
    wrong = _of_time(query, key, value)
    if wrong is not None:
        return wrong
    q, k = query.shape, key.shape
    if q[-1] != embed_dim_to_check:
        return Unmet(
            ATTENTION_FEATURES,
            f"{{op}} expects {embed_dim_to_check} features in the last dim of "
            f"{{query}},"
            f" got {q[-1]}",
            Place("query", len(q) - 1),
            Place("out_proj_weight", 0),
            q[-1],
            embed_dim_to_check,
            tuple(
                Grant(name, resized(tensor, len(tensor.shape) - 1, embed_dim_to_check))
                for name, tensor in (("query", query), ("key", key), ("value", value))
                if name == "query"
                or (tensor.shape[-1] == q[-1] and not use_separate_proj_weight)
            ),
        )
    wrong = _of_memory(
        query, key, value, None if use_separate_proj_weight else embed_dim_to_check
    )
    if wrong is not None:
        return wrong
    sources = k[0]
    batch = q[1] if len(q) == 3 else None
    if key_padding_mask is not None:
        wanted = (batch, sources) if batch is not None else (sources,)
        wrong = _of_padding(key_padding_mask, wanted)
    if wrong is None and attn_mask is not None:
        wrong = _of_forward_mask(attn_mask, q, sources, num_heads)
    weight = in_proj_weight if in_proj_weight is not None else q_proj_weight
    if wrong is not None or not is_tensor(weight):
        return wrong
    return _of_weight(weight.dtype, ("query", query), ("key", key), ("value", value))


def _of_weight(dtype: str, *named: tuple[str, Meta]) -> Unmet | None:
    """Check that all tensors have the dtype of the weights."""
    for name, tensor in named:
        if tensor.dtype != dtype:
            wrong = dtype_unmet(name, tensor, dtype, f"{{op}} computes in {dtype}")
            grants = tuple(Grant(n, Made(e.shape, dtype)) for n, e in named)
            return replace(wrong, grants=grants)
    return None


def _of_time(query: Meta, key: Meta, value: Meta) -> Unmet | None:
    """Check that query, key and value have three dims, or two without a batch."""
    rank = len(query.shape)
    if rank not in (2, 3):
        fitting = (1,) * (2 - rank) + query.shape
        if rank > 3:
            fitting = (prod(query.shape[: rank - 2]), *query.shape[rank - 2 :])
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 3 dims (batch, time, features in some order), or 2, got"
            f" {rank}: {{query}} is {text(query.shape)}",
            Place("query"),
            has=rank,
            needs=3,
            grants=(Grant("query", Made(fitting, query.dtype)),) if rank else (),
            guessed=True,
        )
    for name, tensor in (("key", key), ("value", value)):
        have = len(tensor.shape)
        if have != rank:
            other = value if name == "key" else key
            same = len(other.shape) == rank
            fitting = (
                other.shape if same else (*(1,) * (rank - have), *tensor.shape)[-rank:]
            )
            return Unmet(
                WRONG_RANK,
                f"{{op}} expects as many dims of {{{name}}} as of {{query}}, {rank}, "
                f"got"
                f" {have}: {{{name}}} is {text(tensor.shape)}",
                Place(name),
                Place("query"),
                have,
                rank,
                (Grant(name, Made(fitting, tensor.dtype)),),
                guessed=True,
            )
    return None


def _of_memory(query: Meta, key: Meta, value: Meta, size: int | None) -> Unmet | None:
    """Check that key and value have the query's batch size and number of features."""
    q, k, v = query.shape, key.shape, value.shape
    if size is not None:
        for name, tensor in (("key", key), ("value", value)):
            if tensor.shape[-1] != size:
                last = len(tensor.shape) - 1
                return Unmet(
                    ATTENTION_FEATURES,
                    f"{{op}} expects {size} features in the last dim of {{{name}}}, got"
                    f" {tensor.shape[-1]}: `kdim` and `vdim` allow others",
                    Place(name, last),
                    Place("query", len(q) - 1),
                    tensor.shape[-1],
                    size,
                    tuple(
                        Grant(n, resized(e, last, size))
                        for n, e in (("key", key), ("value", value))
                        if e.shape[-1] == tensor.shape[-1]
                    ),
                )
    if k[:-1] != v[:-1]:
        fitting = Made((*k[:-1], v[-1]), value.dtype)
        return Unmet(
            KEYS_AND_VALUES,
            f"{{op}} needs a value for each key: {{key}} is {text(k)} and {{value}}"
            f" {text(v)} (time, batch, features)",
            Place("value"),
            Place("key"),
            text(v),
            text(k),
            (Grant("value", fitting),),
        )
    if len(q) == 3 and q[1] != k[1]:
        return Unmet(
            BATCH_DIM_MISMATCH,
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


def _of_padding(mask: Meta, wanted: tuple[int, ...]) -> Unmet | None:
    """Check the shape and dtype of the key padding mask."""
    if mask.shape == wanted and (mask.dtype == "bool" or mask.dtype in FLOATING):
        return None
    if mask.shape == wanted:
        why = "{op} expects a bool or float mask"
        return dtype_unmet("key_padding_mask", mask, "bool", why)
    more = ""
    if mask.shape == wanted[::-1]:
        more = ": it is transposed"
    return Unmet(
        ATTENTION_MASK_SHAPE,
        f"{{op}} expects {{key_padding_mask}} as {text(wanted)} ="
        f" {'(batch, keys)' if len(wanted) == 2 else '(keys)'}, got {text(mask.shape)}"
        f"{more}",
        Place("key_padding_mask"),
        has=text(mask.shape),
        needs=text(wanted),
        grants=(Grant("key_padding_mask", Made(wanted, mask.dtype)),),
    )


def _of_forward_mask(
    mask: Meta, q: tuple[int, ...], sources: int, heads: int
) -> Unmet | None:
    """Check that the mask is shared or has one entry for each sample and head."""
    shared = (q[0], sources)
    per_head = ((q[1] if len(q) == 3 else 1) * heads, q[0], sources)
    if mask.shape not in (shared, per_head):
        wanted = per_head if len(mask.shape) == 3 else shared
        padding = ""
        if len(q) == 3 and mask.shape == (q[1], sources):
            padding = " = (batch, keys), as a key padding mask has"
        return Unmet(
            ATTENTION_MASK_SHAPE,
            f"{{op}} expects {{attn_mask}} as {text(shared)} = (queries, keys), or"
            f" {text(per_head)} = (batch·heads, queries, keys), got {text(mask.shape)}"
            f"{padding}",
            Place("attn_mask"),
            has=text(mask.shape),
            needs=text(wanted),
            grants=(Grant("attn_mask", Made(wanted, mask.dtype)),),
        )
    if mask.dtype != "bool" and mask.dtype not in FLOATING:
        why = "{op} expects a bool or float mask"
        return dtype_unmet("attn_mask", mask, "bool", why)
    return None


# -- fused kernels of evaluation: features, dtype, masks -------------------------------


READ = (
    "in evaluation mode one kernel runs the layer: it reads a mask whatever "
    "`is_causal` says"
)


@needs("torch._transformer_encoder_layer_fwd")
def encoder_layer(
    src: Meta, embed_dim: int, num_heads: int, qkv_weight: Meta, qkv_bias: Meta,
    proj_weight: Meta, proj_bias: Meta, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Meta, norm_bias_1: Meta, norm_weight_2: Meta, norm_bias_2: Meta,
    ffn_weight_1: Meta, ffn_bias_1: Meta, ffn_weight_2: Meta, ffn_bias_2: Meta,
    mask: Meta | None = None, mask_type: int | None = None,
) -> Unmet | None:  # fmt: skip
    """Check the features, dtype and mask of an input `(batch, time, features)`."""
    return _unmet("src", src, embed_dim, num_heads, qkv_weight, mask, mask_type)


@needs("torch._native_multi_head_attention")
def native_multi_head_attention(
    query: Meta, key: Meta, value: Meta, embed_dim: int, num_head: int,
    qkv_weight: Meta, qkv_bias: Meta, proj_weight: Meta, proj_bias: Meta,
    mask: Meta | None = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> Unmet | None:  # fmt: skip
    """Check the query of self-attention in the way `encoder_layer` checks `src`."""
    return _unmet("query", query, embed_dim, num_head, qkv_weight, mask, mask_type)


def _unmet(
    name: str, tensor: Meta, width: int, heads: int, weight: Meta, mask: Meta | None,
    kind: int | None,
) -> Unmet | None:  # fmt: skip
    if len(tensor.shape) != 3:
        return None
    batch, length, have = tensor.shape
    if have != width:
        return Unmet(
            ATTENTION_FEATURES,
            f"{{op}} expects {width} features in the last dim of {{{name}}}, got"
            f" {have}",
            Place(name, 2),
            Place("qkv_weight", 1),
            have,
            width,
            (Grant(name, resized(tensor, 2, width)),),
        )
    wrong = _of_weight(weight.dtype, (name, tensor))
    if wrong is not None or mask is None:
        return wrong
    if kind == 1:
        return _of_merged_padding(mask, (batch, length))
    return _of_scores(mask, (batch, heads, length, length))


def _of_scores(mask: Meta, scores: tuple[int, ...]) -> Unmet | None:
    """Check that a mask of queries and keys fits, with or without a batch dim."""
    if mask.shape == scores:
        return None
    batch, heads, length, _ = scores
    shared, per_head = (length, length), (batch * heads, length, length)
    have, fitting = mask.shape, scores
    if len(have) == len(scores):  # it had three dims
        have = (prod(have[:2]), *have[2:])
    else:
        fitting = per_head if len(have) == len(per_head) else shared
        if have == fitting:
            return None
    return Unmet(
        ATTENTION_MASK_SHAPE,
        f"{{op}} expects a mask of {text(shared)} = (queries, keys), or"
        f" {text(per_head)} = (batch·heads, queries, keys), got {text(have)}",
        Place("mask"),
        has=text(have),
        needs=text(per_head if len(have) == len(per_head) else shared),
        grants=(Grant("mask", Made(fitting, mask.dtype)),),
        lines=(READ,),
    )


@needs("torch._nested_tensor_from_mask_left_aligned", "torch._nested_tensor_from_mask")
def nested_from_mask(t: Meta, mask: Meta, mask_check: bool = True) -> Unmet | None:
    """Check that the padding mask has the shape (batch, keys)."""
    return _of_merged_padding(mask, t.shape[:2]) if len(t.shape) == 3 else None


def _of_merged_padding(mask: Meta, wanted: tuple[int, ...]) -> Unmet | None:
    """Check that a padding mask has the expected shape (batch, keys)."""
    if mask.shape == wanted:
        return None
    turned = ": it is transposed" if mask.shape == wanted[::-1] else ""
    return Unmet(
        ATTENTION_MASK_SHAPE,
        f"{{op}} expects a padding mask of {text(wanted)} = (batch, keys), got"
        f" {text(mask.shape)}{turned}",
        Place("mask"),
        has=text(mask.shape),
        needs=text(wanted),
        grants=(Grant("mask", Made(wanted, mask.dtype)),),
    )
