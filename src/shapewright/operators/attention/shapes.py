"""Metadata rules for scaled dot product and multi-head attention, and fused kernels.

On the CPU torch uses its flash kernel if it can (`use_flash_attention_cpp`), whose
result keeps the query's order of dims; else two matrix products with a contiguous one.

Mirrors `multi_head_attention_forward` in `torch/nn/functional.py`: projections, bias
rows and a zero row behind the keys, then either scaled dot product attention or, if
weights are requested, two products with a softmax between them. Calls that do not fit,
and masks that torch warns about, are left to torch.

In evaluation torch uses fused kernels. Mirrors `native_multi_head_attention_cpu` in
`ATen/native/transformers/attention.cpp`, `transformer_encoder_layer_forward` in
`transformer.cpp` beside it, and `_masked_softmax` in `ATen/native/SoftMax.cpp`. FLOPs
are counted as for the separate layers.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from shapewright.operators.matmul.product_shapes import linear
from shapewright.operators.matmul.shapes import (
    Operand,
    addmm,
    matmul,
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
from shapewright.operators.promotion_and_broadcasting import FLOATING, broadcast
from shapewright.sizes.strides import compute_strides_like, contiguous

Shape = tuple[int, ...]


def _scaled_product_flops(
    query: Meta, key: Meta, value: Meta, *_: Any, **__: Any
) -> int:
    """Count the FLOPs of both products in full, even if causal, as torch does."""
    *batch, length, width = query.shape
    keys, out = key.shape[-2], value.shape[-1]
    rows = prod(batch)
    if len(query.shape) == len(key.shape) and query.shape[:-2] != key.shape[:-2]:
        try:
            rows = prod(broadcast(query.shape[:-2], key.shape[:-2]))
        except Misfit:
            rows = prod(batch)
    return 2 * rows * length * keys * (width + out)


@rule("torch.nn.functional.scaled_dot_product_attention",
      "torch._C._nn.scaled_dot_product_attention",
      flops=_scaled_product_flops)  # fmt: skip
def attention(
    query: Meta,
    key: Meta,
    value: Meta,
    attn_mask: Meta | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Infer the output: q `(8, 12, 16, 64)`, k, v `(8, 12, 20, 64)` give q's shape."""
    q, k, v = query.shape, key.shape, value.shape
    if query.dtype not in FLOATING:
        return NotImplemented
    _check(query, key, value, attn_mask)
    if not q or 0 in q or 0 in k or 0 in v:
        return NotImplemented
    if (
        len(q) == len(k) == len(v) == 4
        and dropout_p == 0
        and q[3] == k[3] == v[3]
        and q[0] == k[0] == v[0]
        and (q[1] == k[1] == v[1] or (enable_gqa and k[1] == v[1] and not q[1] % k[1]))
        and query.stride[3] == key.stride[3] == value.stride[3] == 1
        and (attn_mask is None or _flash_takes(attn_mask, q, k))
    ):
        if k[2] != v[2]:
            return NotImplemented
        grad_fn = "ScaledDotProductFlashAttentionForCpuBackward0"
        return Made(q, query.dtype, compute_strides_like(q, query.stride), grad_fn)
    if enable_gqa:
        return NotImplemented
    return _by_products(query, key, value, attn_mask)


def _check(query: Meta, key: Meta, value: Meta, mask: Meta | None) -> None:
    query_dtype, key_dtype, value_dtype = query.dtype, key.dtype, value.dtype
    if not query_dtype == key_dtype == value_dtype:
        raise Misfit(
            "Expected query, key, and value to have the same dtype, but got "
            f"query.dtype: {C_TYPE.get(query_dtype, query_dtype)} key.dtype:"
            f" {C_TYPE.get(key_dtype, key_dtype)} "
            f"and value.dtype: {C_TYPE.get(value_dtype, value_dtype)} instead."
        )
    q, k, v = len(query.shape), len(key.shape), len(value.shape)
    if min(q, k, v) < 2:
        raise Misfit(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {q} key.dim: {k} and value.dim: {v} instead."
        )
    if mask is not None and mask.dtype not in ("bool", "float32", query_dtype):
        raise Misfit(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but "
            f"got attn_mask.dtype: {C_TYPE.get(mask.dtype, mask.dtype)} and  "
            f"query.dtype: {C_TYPE.get(query_dtype, query_dtype)} instead."
        )


def _flash_takes(mask: Meta, q: Shape, k: Shape) -> bool:
    """Return whether `check_attn_mask_shape` accepts the mask without a gradient."""
    shape = mask.shape
    if mask.requires_grad:
        return False
    if len(shape) == 2:
        return shape[0] in (q[2], 1) and shape[1] in (k[2], 1)
    return (
        len(shape) == 4
        and shape[0] in (q[0], 1)
        and shape[1] in (q[1], 1)
        and shape[2] in (q[2], 1)
        and shape[3] in (k[2], 1)
    )


def _by_products(query: Meta, key: Meta, value: Meta, mask: Meta | None) -> Any:
    q, k, v = query.shape, key.shape, value.shape
    if not len(q) == len(k) == len(v) or len(q) < 2:
        return NotImplemented
    if mask is not None and len(mask.shape) < 2:
        return NotImplemented
    turned = operand(key)._replace(
        shape=(*k[:-2], k[-1], k[-2]),
        stride=(*key.stride[:-2], key.stride[-1], key.stride[-2]),
    )
    scores = matmul(operand(query), turned)
    if scores is NotImplemented:
        return scores
    shape = scores.shape
    if mask is not None and broadcast(shape, mask.shape) != shape:
        return NotImplemented
    weights = operand(query)._replace(
        shape=shape,
        stride=contiguous(shape),
        requires_grad=query.requires_grad or key.requires_grad,
    )
    output = matmul(weights, operand(value))
    if query.dtype in ("float16", "bfloat16") and output is not NotImplemented:
        return Made(output.shape, output.dtype, output.stride, "ToCopyBackward0")
    return output


class _Call(NamedTuple):
    """The sizes of a call; `keys` includes the rows that are appended."""

    length: int
    batch: int
    keys: int
    heads: int
    width: int
    batched: bool
    out: int
    projected: int
    """Multiply-adds of the three projections of query, key and value."""


def _sizes(
    query: Any, key: Any, value: Any, embed_dim_to_check: Any, num_heads: Any,
    in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any,
    add_zero_attn: Any, dropout_p: Any, out_proj_weight: Any, out_proj_bias: Any,
    training: Any = True, key_padding_mask: Any = None, need_weights: Any = True,
    attn_mask: Any = None, use_separate_proj_weight: Any = False,
    q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None,
    static_k: Any = None, static_v: Any = None, average_attn_weights: Any = True,
    is_causal: Any = False,
) -> _Call | None:  # fmt: skip
    """Return the sizes of the call, or None to leave the call to torch."""
    batched = len(query.shape) == 3
    if not batched and len(query.shape) != 2:
        return None
    q, k, v = (
        meta.shape if batched else (meta.shape[0], 1, *meta.shape[1:])
        for meta in (query, key, value)
    )
    if not len(q) == len(k) == len(v) == 3 or q[1] != k[1] or 0 in q or 0 in k:
        return None
    width, heads = q[2], num_heads
    fits = (
        type(heads) is int
        and heads > 0
        and width == embed_dim_to_check
        and width % heads == 0
        and k[:2] == v[:2]
        and static_k is None
        and static_v is None
        and (attn_mask is not None or not is_causal)
    )
    if use_separate_proj_weight:
        projections = [q_proj_weight, k_proj_weight, v_proj_weight]
        weights = [(width, width), (width, k[2]), (width, v[2])]
    else:
        projections = [in_proj_weight]
        weights = [(3 * width, width)]
        fits = fits and k == v and k[2] == width
    if not fits or [_shape(weight) for weight in projections] != weights:
        return None
    rows = [in_proj_bias, bias_k, bias_v, out_proj_weight, out_proj_bias]
    tensors = [query, key, value, *projections, *(x for x in rows if x is not None)]
    mixed = any(t.dtype != query.dtype for t in tensors)
    if query.dtype not in FLOATING and not mixed:
        return None
    if (bias_k is None) != (bias_v is None):
        return None
    if bias_k is not None and not bias_k.shape == bias_v.shape == (1, 1, width):
        return None
    out = _shape(out_proj_weight)
    if len(out) != 2 or out[1] != width or _shape(in_proj_bias) not in (
        (), (3 * width,)
    ) or _shape(out_proj_bias) not in ((), out[:1]):  # fmt: skip
        return None
    if mixed:
        if _have_ranks(batched, attn_mask, key_padding_mask):
            _check_projections((query, key, value), projections, in_proj_bias)
        return None
    if not _masked(query, attn_mask, key_padding_mask, (q[0], k[0], q[1], heads)):
        return None
    keys = k[0] + (bias_k is not None) + bool(add_zero_attn)
    projected = q[1] * width * (q[0] * width + k[0] * (k[2] + v[2]))
    return _Call(q[0], q[1], keys, heads, width, batched, out[0], projected)


def _have_ranks(batched: bool, mask: Any, padding: Any) -> bool:
    """Return whether the masks have the numbers of dims that torch checks first."""
    rank = 2 if batched else 1
    return (padding is None or len(padding.shape) == rank) and (
        mask is None or len(mask.shape) == 2
    )


def _check_projections(tensors: Any, weights: list[Any], bias: Meta | None) -> None:
    """Raise torch's error if the dtype of an input differs from that of its weight.

    A single weight holds the rows of all three; an unbatched input gets a batch dim.
    Masks are merged later.
    """
    rows = tensors[0].shape[-1]
    for tensor, weight in zip(tensors, weights * 3, strict=False):
        rows_operand = operand(tensor)
        if len(rows_operand.shape) == 2:
            (length, width), (step, last) = rows_operand.shape, rows_operand.stride
            rows_operand = rows_operand._replace(
                shape=(length, 1, width), stride=(step, step, last)
            )
        part = operand(weight)._replace(shape=(rows, weight.shape[1]))
        along = None if bias is None else operand(bias)._replace(shape=(rows,))
        linear(rows_operand, part, along)


def _shape(meta: Meta | None) -> Shape:
    return () if meta is None else meta.shape


def _masked(query: Meta, mask: Any, padding: Any, sizes: tuple[int, ...]) -> bool:
    """Return whether the masks fit, share a dtype, and cause no warning in torch."""
    length, keys, batch, heads = sizes
    batched = len(query.shape) == 3
    masks = [tensor for tensor in (mask, padding) if tensor is not None]
    if any(tensor.dtype not in ("bool", query.dtype) for tensor in masks):
        return False
    if len({tensor.dtype for tensor in masks}) > 1:
        return False
    beside = (batch, keys) if batched else (keys,)
    if padding is not None and padding.shape != beside:
        return False
    return mask is None or mask.shape in (
        (length, keys), (batch * heads, length, keys)
    )  # fmt: skip


def _multi_head_flops(*args: Any, **kwargs: Any) -> int:
    """Count the FLOPs of four projections and two products over all heads."""
    call = _sizes(*args, **kwargs)
    assert call is not None
    heads = 2 * call.length * call.keys * call.width
    last = call.length * call.width * call.out
    return 2 * (call.projected + call.batch * (heads + last))


@rule("torch.nn.functional.multi_head_attention_forward", flops=_multi_head_flops)
def multi_head_attention(*args: Any, **kwargs: Any) -> Any:
    """Infer the outputs; lengths come first, then the batch.

    Query (16, 8, 64), key and value (20, 8, 64) give (16, 8, 64), weights (8, 16, 20).
    """
    call = _sizes(*args, **kwargs)
    if call is None:
        return NotImplemented
    dtype = (args[0] if args else kwargs["query"]).dtype
    batch = (call.batch,) if call.batched else ()
    shape = (call.length, *batch, call.out)
    node = "ViewBackward0" if call.batched else "SqueezeBackward1"
    output = Made(shape, dtype, None, node)
    if not _option(args, kwargs, 15, "need_weights"):
        return (output, None)
    pair = (call.length, call.keys)
    if not _option(args, kwargs, 23, "average_attn_weights"):
        shape = (*batch, call.heads, *pair)
        return (output, Made(shape, dtype, None, node))
    node = "MeanBackward1" if call.batched else "SqueezeBackward1"
    return (output, Made((*batch, *pair), dtype, None, node))


def _option(args: tuple[Any, ...], kwargs: dict[str, Any], at: int, name: str) -> Any:
    """Return an option that is True by default, given by position or by keyword."""
    return args[at] if len(args) > at else kwargs.get(name, True)


# -- fused kernels of evaluation -------------------------------------------------------


MASK = 2
"""The `mask_type` of a mask over batch, heads, queries and keys."""

UNMERGED = -2
"""A `mask_type` of our own: a mask of queries and keys that `merge_masks` refuses."""


def _fused_attention_flops(
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


@rule("torch._native_multi_head_attention", flops=_fused_attention_flops)
def native_multi_head_attention(
    query: Meta, key: Meta, value: Meta, embed_dim: int, num_head: int,
    qkv_weight: Meta, qkv_bias: Meta, proj_weight: Meta, proj_bias: Meta,
    mask: Meta | None = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """Infer the outputs: (8, 16, 64) gives (8, 16, 64) and weights (8, 16, 16)."""
    if not len(query.shape) == len(key.shape) == len(value.shape) == 3:
        return NotImplemented
    if query.shape != key.shape or key.shape != value.shape:
        raise Misfit("expected `query`/`key`/`value` shapes to match")
    output = _attended(
        query, embed_dim, num_head, (qkv_weight, qkv_bias, proj_weight, proj_bias),
        mask, mask_type,
    )  # fmt: skip
    if output is NotImplemented or not prod(query.shape):
        return output if output is NotImplemented else (output, None)
    if not need_weights:
        return (output, None)
    batch, length, _ = query.shape
    heads = () if average_attn_weights else (num_head,)
    return (output, Made((batch, *heads, length, length), output.dtype, None, ""))


def _attended(
    query: Meta | Operand, embed_dim: int, num_head: int, weights: tuple[Meta, ...],
    mask: Meta | None, mask_type: int | None,
) -> Any:  # fmt: skip
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
        query_type, weight_type = (
            C_TYPE.get(m.dtype, m.dtype) for m in (query, qkv_weight)
        )
        raise Misfit(
            f"expected m1 and m2 to have the same dtype, but got: {query_type} !="
            f" {weight_type}"
        )
    if not prod(query.shape):
        return Made(
            query.shape,
            query.dtype,
            compute_strides_like(query.shape, query.stride),
            "",
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
    output = linear(rows, proj_weight, proj_bias)
    if output is NotImplemented:
        return output
    return Made((batch, length, output.shape[1]), output.dtype, None, "")


def _masks(mask: Meta, mask_type: int | None, scores: tuple[int, ...]) -> Any:
    """Return None if the mask fits the scores, whatever its dtype."""
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
    """Return the message of `nn.MultiheadAttention.merge_masks` for a wrong mask."""
    batch, _, rows, keys = scores
    first = f"{batch}, -1" if len(mask.shape) == 3 else "1, 1"
    count = prod(mask.shape)
    return f"shape '[{first}, {rows}, {keys}]' is invalid for input of size {count}"


def _dense(shape: tuple[int, ...], dtype: str) -> Operand:
    """Return a contiguous tensor that the kernel uses internally."""
    return Operand(shape, contiguous(shape), dtype, "", False)


def _layer_flops(
    src: Meta, embed_dim: int, num_heads: int, qkv_weight: Meta, qkv_bias: Meta,
    proj_weight: Meta, *rest: Any, **named: Any,
) -> int:  # fmt: skip
    """Count the FLOPs of attention and of the two linear layers."""
    attention = _fused_attention_flops(
        src, src, src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight
    )
    first = named["ffn_weight_1"] if "ffn_weight_1" in named else rest[8]
    return attention + 2 * 2 * prod(src.shape) * int(first.shape[0])


@rule("torch._transformer_encoder_layer_fwd", flops=_layer_flops)
def transformer_encoder_layer(
    src: Meta, embed_dim: int, num_heads: int, qkv_weight: Meta, qkv_bias: Meta,
    proj_weight: Meta, proj_bias: Meta, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Meta, norm_bias_1: Meta, norm_weight_2: Meta, norm_bias_2: Meta,
    ffn_weight_1: Meta, ffn_bias_1: Meta, ffn_weight_2: Meta, ffn_bias_2: Meta,
    mask: Meta | None = None, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """Infer the output: (8, 16, 64) gives (8, 16, 64), contiguous unless empty."""
    if not prod(src.shape):
        return Made(
            src.shape, src.dtype, compute_strides_like(src.shape, src.stride), ""
        )
    if len(src.shape) != 3:
        return NotImplemented
    first = norm_weight_1, norm_bias_1
    second = norm_weight_2, norm_bias_2
    hidden: Any = operand(src)
    if norm_first:
        hidden = layer_norm(hidden, (embed_dim,), *first)
        if hidden is NotImplemented:
            return hidden
        hidden = _dense(hidden.shape, hidden.dtype)
    weights = qkv_weight, qkv_bias, proj_weight, proj_bias
    hidden = _attended(hidden, embed_dim, num_heads, weights, mask, mask_type)
    if (
        hidden is NotImplemented
        or hidden.shape != src.shape
        or hidden.dtype != src.dtype
    ):
        return NotImplemented
    for norm in (second,) if norm_first else (first, second):
        normed = layer_norm(_dense(src.shape, src.dtype), (embed_dim,), *norm)
        if normed is NotImplemented:
            return normed
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
