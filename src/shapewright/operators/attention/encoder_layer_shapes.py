"""Metadata rules for the fused kernels of attention and of an encoder layer.

Torch uses these kernels in evaluation. Mirrors `native_multi_head_attention_cpu` in
`ATen/native/transformers/attention.cpp`, `transformer_encoder_layer_forward` in
`transformer.cpp` beside it, and `_masked_softmax` in `ATen/native/SoftMax.cpp`. FLOPs
are counted as for the separate layers.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.operators.matmul.product_shapes import linear
from shapewright.operators.matmul.shapes import (
    Operand,
    addmm,
    operand,
    supported,
    transposed,
)
from shapewright.operators.metadata_rules import (
    C_TYPE,
    Made,
    Meta,
    Misfit,
    rule,
    unsupported,
)
from shapewright.operators.normalization.shapes import layer_norm
from shapewright.operators.promotion_and_broadcasting import FLOATING
from shapewright.sizes.strides import compute_like, contiguous

MASK = 2
"""The `mask_type` of a mask over batch, heads, queries and keys."""

UNMERGED = -2
"""A `mask_type` of our own: a mask of queries and keys that `merge_masks` refuses."""


def _attention_flops(
    query: Meta, key: Meta, value: Meta, embed_dim: int, num_head: int,
    qkv_weight: Meta, qkv_bias: Meta, proj_weight: Meta, *_: Any, **__: Any,
) -> int:  # fmt: skip
    """Count the FLOPs of four projections and two products over all heads."""
    batch, length, width = query.shape
    if not prod(query.shape):
        return 0
    rows = batch * length
    products = 2 * rows * length * embed_dim
    return 2 * (rows * width * (3 * embed_dim + proj_weight.shape[0]) + products)


@rule("torch._native_multi_head_attention", flops=_attention_flops)
def native_multi_head_attention(
    query: Meta,
    key: Meta,
    value: Meta,
    embed_dim: int,
    num_head: int,
    qkv_weight: Meta,
    qkv_bias: Meta,
    proj_weight: Meta,
    proj_bias: Meta,
    mask: Meta | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """Infer the outputs: (8, 16, 64) gives (8, 16, 64) and weights (8, 16, 16)."""
    if not len(query.shape) == len(key.shape) == len(value.shape) == 3:
        return NotImplemented
    if query.shape != key.shape or key.shape != value.shape:
        raise Misfit("expected `query`/`key`/`value` shapes to match")
    made = _attended(
        query, embed_dim, num_head, (qkv_weight, qkv_bias, proj_weight, proj_bias),
        mask, mask_type,
    )  # fmt: skip
    if made is NotImplemented or not prod(query.shape):
        return made if made is NotImplemented else (made, None)
    if not need_weights:
        return (made, None)
    batch, length, _ = query.shape
    heads = () if average_attn_weights else (num_head,)
    return (made, Made((batch, *heads, length, length), made.dtype, None, ""))


def _attended(
    query: Meta | Operand,
    embed_dim: int,
    num_head: int,
    weights: tuple[Meta, ...],
    mask: Meta | None,
    mask_type: int | None,
) -> Any:
    """Infer the output of self-attention of one sequence."""
    qkv_weight, qkv_bias, proj_weight, proj_bias = weights
    batch, length, width = query.shape
    if width != embed_dim:
        raise Misfit(
            f"passed-in embed_dim {embed_dim} didn't match last dim of query {width}"
        )
    if qkv_weight.shape != (3 * embed_dim, embed_dim) or embed_dim % num_head:
        return NotImplemented
    if qkv_bias.shape != (3 * embed_dim,):
        return NotImplemented
    if query.dtype != qkv_weight.dtype:
        one, two = (C_TYPE.get(m.dtype, m.dtype) for m in (query, qkv_weight))
        raise Misfit(
            f"expected m1 and m2 to have the same dtype, but got: {one} != {two}"
        )
    if not prod(query.shape):
        return Made(
            query.shape, query.dtype, compute_like(query.shape, query.stride), ""
        )
    if query.dtype not in FLOATING:
        raise unsupported("transform_bias_rescale_qkv", query.dtype)
    if qkv_bias.dtype != query.dtype:
        return NotImplemented
    if mask is not None:
        wrong = _masks(mask, mask_type, (batch, num_head, length, length))
        if wrong is not None:
            return wrong
    rows = _dense((batch * length, width), query.dtype)
    made = linear(rows, proj_weight, proj_bias)
    if made is NotImplemented:
        return made
    return Made((batch, length, made.shape[1]), made.dtype, None, "")


def _masks(mask: Meta, mask_type: int | None, scores: tuple[int, ...]) -> Any:
    """Return None if the mask fits the scores; its dtype does not matter."""
    batch, heads, rows, keys = scores
    if mask_type == UNMERGED:
        if mask.shape not in ((rows, keys), (batch * heads, rows, keys)):
            raise Misfit(_unmerged(mask, scores))
        return None
    if mask_type not in (1, MASK):
        return NotImplemented
    if len(mask.shape) != 2 or mask_type == MASK:
        if mask.shape != scores:
            raise Misfit("For mask_type == 2 mask shape should match input shape")
    elif mask.shape != (batch, keys):
        raise Misfit("For mask_type == 1 mask shape should be (B, L)")
    return None


def _unmerged(mask: Meta, scores: tuple[int, ...]) -> str:
    """Return the message of `nn.MultiheadAttention.merge_masks` for a misfit mask."""
    batch, _, rows, keys = scores
    first = f"{batch}, -1" if len(mask.shape) == 3 else "1, 1"
    count = prod(mask.shape)
    return f"shape '[{first}, {rows}, {keys}]' is invalid for input of size {count}"


def _dense(shape: tuple[int, ...], dtype: str) -> Operand:
    """Return a contiguous tensor inside the kernel."""
    return Operand(shape, contiguous(shape), dtype, "", False)


def _layer_flops(
    src: Meta, embed_dim: int, num_heads: int, qkv_weight: Meta, qkv_bias: Meta,
    proj_weight: Meta, *rest: Any, **named: Any,
) -> int:  # fmt: skip
    """Count the FLOPs of attention and of two linear layers."""
    attention = _attention_flops(
        src, src, src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight
    )
    first = named["ffn_weight_1"] if "ffn_weight_1" in named else rest[8]
    return attention + 2 * 2 * prod(src.shape) * int(first.shape[0])


@rule("torch._transformer_encoder_layer_fwd", flops=_layer_flops)
def transformer_encoder_layer(
    src: Meta,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Meta,
    qkv_bias: Meta,
    proj_weight: Meta,
    proj_bias: Meta,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Meta,
    norm_bias_1: Meta,
    norm_weight_2: Meta,
    norm_bias_2: Meta,
    ffn_weight_1: Meta,
    ffn_bias_1: Meta,
    ffn_weight_2: Meta,
    ffn_bias_2: Meta,
    mask: Meta | None = None,
    mask_type: int | None = None,
) -> Any:
    """Infer the output: (8, 16, 64) gives (8, 16, 64), contiguous unless empty."""
    if not prod(src.shape):
        return Made(src.shape, src.dtype, compute_like(src.shape, src.stride), "")
    if len(src.shape) != 3:
        return NotImplemented
    first = norm_weight_1, norm_bias_1
    second = norm_weight_2, norm_bias_2
    made: Any = operand(src)
    if norm_first:
        made = layer_norm(made, (embed_dim,), *first)
        if made is NotImplemented:
            return made
        made = _dense(made.shape, made.dtype)
    weights = qkv_weight, qkv_bias, proj_weight, proj_bias
    made = _attended(made, embed_dim, num_heads, weights, mask, mask_type)
    if made is NotImplemented or made.shape != src.shape or made.dtype != src.dtype:
        return NotImplemented
    for norm in (second,) if norm_first else (first, second):
        if layer_norm(_dense(src.shape, src.dtype), (embed_dim,), *norm) is (
            NotImplemented
        ):
            return NotImplemented
    rows: Any = _dense((prod(src.shape[:2]), embed_dim), src.dtype)
    for weight, bias in ((ffn_weight_1, ffn_bias_1), (ffn_weight_2, ffn_bias_2)):
        if not supported(rows, weight, bias) or len(weight.shape) != 2:
            return NotImplemented
        rows = addmm(bias, rows, transposed(weight))
        if rows is NotImplemented:
            return rows
        rows = _dense(rows.shape, rows.dtype)
    if rows.shape[1] != embed_dim:
        return NotImplemented
    return Made(src.shape, src.dtype, None, "")
