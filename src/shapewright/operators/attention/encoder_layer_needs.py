"""Needs of the fused attention kernels used in evaluation: features, dtype, masks.

`nn.TransformerEncoderLayer` and `nn.MultiheadAttention` call these kernels with one
mask, merged from the masks that they get.
"""

from __future__ import annotations

from math import prod

from shapewright.findings.codes import ATTENTION_FEATURES, ATTENTION_MASK_SHAPE
from shapewright.operators.attention.needs import of_weight
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import resized, text
from shapewright.operators.needs_registry import needs

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
    """Check features, dtype and mask of an input `(batch, time, features)`."""
    return _unmet("src", src, embed_dim, num_heads, qkv_weight, mask, mask_type)


@needs("torch._native_multi_head_attention")
def native_multi_head_attention(
    query: Meta, key: Meta, value: Meta, embed_dim: int, num_head: int,
    qkv_weight: Meta, qkv_bias: Meta, proj_weight: Meta, proj_bias: Meta,
    mask: Meta | None = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> Unmet | None:  # fmt: skip
    """Check the query of self-attention as `encoder_layer` checks `src`."""
    return _unmet("query", query, embed_dim, num_head, qkv_weight, mask, mask_type)


def _unmet(
    name: str,
    given: Meta,
    width: int,
    heads: int,
    weight: Meta,
    mask: Meta | None,
    kind: int | None,
) -> Unmet | None:
    if len(given.shape) != 3:
        return None
    batch, length, have = given.shape
    if have != width:
        return Unmet(
            ATTENTION_FEATURES,
            f"{{op}} expects {width} features in the last dim of {{{name}}}, got "
            f"{have}",
            Place(name, 2),
            Place("qkv_weight", 1),
            have,
            width,
            (Grant(name, resized(given, 2, width)),),
        )
    wrong = of_weight(weight.dtype, (name, given))
    if wrong is not None or mask is None:
        return wrong
    if kind == 1:
        return _of_padding(mask, (batch, length))
    return _of_scores(mask, (batch, heads, length, length))


def _of_scores(mask: Meta, scores: tuple[int, ...]) -> Unmet | None:
    """Check that a mask of queries and keys fits, with or without a batch dim."""
    if mask.shape == scores:
        return None
    batch, heads, length, _ = scores
    one, many = (length, length), (batch * heads, length, length)
    have, fitting = mask.shape, scores
    if len(have) == len(scores):  # it had three dims
        have = (prod(have[:2]), *have[2:])
    else:
        fitting = many if len(have) == len(many) else one
        if have == fitting:
            return None
    return Unmet(
        ATTENTION_MASK_SHAPE,
        f"{{op}} expects a mask of {text(one)} = (queries, keys), or {text(many)} ="
        f" (batch·heads, queries, keys), got {text(have)}",
        Place("mask"),
        has=text(have),
        needs=text(many if len(have) == len(many) else one),
        grants=(Grant("mask", Made(fitting, mask.dtype)),),
        lines=(READ,),
    )


@needs("torch._nested_tensor_from_mask_left_aligned", "torch._nested_tensor_from_mask")
def nested_from_mask(t: Meta, mask: Meta, mask_check: bool = True) -> Unmet | None:
    """Check that the padding mask has the shape (batch, keys)."""
    return _of_padding(mask, t.shape[:2]) if len(t.shape) == 3 else None


def _of_padding(mask: Meta, wanted: tuple[int, ...]) -> Unmet | None:
    """Check that a padding mask has the wanted shape, (batch, keys)."""
    if mask.shape == wanted:
        return None
    turned = ": it is the other way round" if mask.shape == wanted[::-1] else ""
    return Unmet(
        ATTENTION_MASK_SHAPE,
        f"{{op}} expects a padding mask of {text(wanted)} = (batch, keys), got"
        f" {text(mask.shape)}{turned}",
        Place("mask"),
        has=text(mask.shape),
        needs=text(wanted),
        grants=(Grant("mask", Made(wanted, mask.dtype)),),
    )
