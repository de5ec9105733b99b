"""Scaled dot product attention.

On the CPU torch takes its flash kernel where it can (`use_flash_attention_cpp`), whose
result has the query's order of dims; else two matrix products, with a contiguous one.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.broadcasting import broadcast
from shapewright.rules.matmul import matmul, operand
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous, like
from shapewright.rules.wording import C_TYPE

Shape = tuple[int, ...]


def _flops(query: Meta, key: Meta, value: Meta, *_: Any, **__: Any) -> int:
    """Both products, a causal mask not left out: as torch counts."""
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
      "torch._C._nn.scaled_dot_product_attention", flops=_flops)  # fmt: skip
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
    """q `(8, 12, 16, 64)`, k and v `(8, 12, 20, 64)` give (8, 12, 16, 64)."""
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
        return Made(q, query.dtype, like(q, query.stride), grad_fn)
    if enable_gqa:
        return NotImplemented
    return _by_products(query, key, value, attn_mask)


def _check(query: Meta, key: Meta, value: Meta, mask: Meta | None) -> None:
    one, two, three = query.dtype, key.dtype, value.dtype
    if not one == two == three:
        raise Misfit(
            "Expected query, key, and value to have the same dtype, but got "
            f"query.dtype: {C_TYPE.get(one, one)} key.dtype: {C_TYPE.get(two, two)} "
            f"and value.dtype: {C_TYPE.get(three, three)} instead."
        )
    q, k, v = len(query.shape), len(key.shape), len(value.shape)
    if min(q, k, v) < 2:
        raise Misfit(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {q} key.dim: {k} and value.dim: {v} instead."
        )
    if mask is not None and mask.dtype not in ("bool", "float32", one):
        raise Misfit(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but "
            f"got attn_mask.dtype: {C_TYPE.get(mask.dtype, mask.dtype)} and  "
            f"query.dtype: {C_TYPE.get(one, one)} instead."
        )


def _flash_takes(mask: Meta, q: Shape, k: Shape) -> bool:
    """`check_attn_mask_shape`, and no gradient for the mask."""
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
    made = matmul(weights, operand(value))
    if query.dtype in ("float16", "bfloat16") and made is not NotImplemented:
        return Made(made.shape, made.dtype, made.stride, "ToCopyBackward0")
    return made
