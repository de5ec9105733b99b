"""Multi-head attention as `nn.MultiheadAttention` calls it.

Mirrors `multi_head_attention_forward` in `torch/nn/functional.py`: projections, bias
rows and a zero row behind the keys, then either scaled dot product attention, or, where
weights are asked for, two products with a softmax between them. What does not fit, and
masks that torch warns about, are left to torch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shapewright.rules.linear import linear
from shapewright.rules.matmul import operand
from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule

Shape = tuple[int, ...]


class _Call(NamedTuple):
    """The sizes of a call; `keys` counts the rows that were added."""

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
    """The sizes, or None where torch shall answer."""
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
    """Whether the masks have as many dims as torch asks for at first."""
    rank = 2 if batched else 1
    return (padding is None or len(padding.shape) == rank) and (
        mask is None or len(mask.shape) == 2
    )


def _check_projections(given: Any, weights: list[Any], bias: Meta | None) -> None:
    """Raise what torch says of an input of another dtype than its weight.

    One weight is that of all three, in rows; without a batch, one is added. Masks are
    merged later.
    """
    rows = given[0].shape[-1]
    for each, weight in zip(given, weights * 3, strict=False):
        one = operand(each)
        if len(one.shape) == 2:
            (length, width), (step, last) = one.shape, one.stride
            one = one._replace(shape=(length, 1, width), stride=(step, step, last))
        part = operand(weight)._replace(shape=(rows, weight.shape[1]))
        along = None if bias is None else operand(bias)._replace(shape=(rows,))
        linear(one, part, along)


def _shape(meta: Meta | None) -> Shape:
    return () if meta is None else meta.shape


def _masked(query: Meta, mask: Any, padding: Any, sizes: tuple[int, ...]) -> bool:
    """Whether the masks fit, are of one kind, and torch does not warn about them."""
    length, keys, batch, heads = sizes
    batched = len(query.shape) == 3
    given = [one for one in (mask, padding) if one is not None]
    if any(one.dtype not in ("bool", query.dtype) for one in given):
        return False
    if len({one.dtype for one in given}) > 1:
        return False
    beside = (batch, keys) if batched else (keys,)
    if padding is not None and padding.shape != beside:
        return False
    return mask is None or mask.shape in (
        (length, keys), (batch * heads, length, keys)
    )  # fmt: skip


def _flops(*args: Any, **kwargs: Any) -> int:
    """Four projections and two products over all heads."""
    call = _sizes(*args, **kwargs)
    assert call is not None
    heads = 2 * call.length * call.keys * call.width
    last = call.length * call.width * call.out
    return 2 * (call.projected + call.batch * (heads + last))


@rule("torch.nn.functional.multi_head_attention_forward", flops=_flops)
def multi_head_attention(*args: Any, **kwargs: Any) -> Any:
    """Query (16, 8, 64), key and value (20, 8, 64) give (16, 8, 64), weights (8, 16,
    20): lengths first, then the batch."""
    call = _sizes(*args, **kwargs)
    if call is None:
        return NotImplemented
    dtype = (args[0] if args else kwargs["query"]).dtype
    batch = (call.batch,) if call.batched else ()
    shape = (call.length, *batch, call.out)
    node = "ViewBackward0" if call.batched else "SqueezeBackward1"
    made = Made(shape, dtype, None, node)
    if not _option(args, kwargs, 15, "need_weights"):
        return (made, None)
    pair = (call.length, call.keys)
    if not _option(args, kwargs, 23, "average_attn_weights"):
        shape = (*batch, call.heads, *pair)
        return (made, Made(shape, dtype, None, node))
    node = "MeanBackward1" if call.batched else "SqueezeBackward1"
    return (made, Made((*batch, *pair), dtype, None, node))


def _option(args: tuple[Any, ...], kwargs: dict[str, Any], at: int, name: str) -> Any:
    """An option that is on unless the call says no."""
    return args[at] if len(args) > at else kwargs.get(name, True)
