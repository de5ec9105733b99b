"""flash_attn_interface: attention of FlashAttention 3, for Hopper."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shapewright.runtime.absent.stand_ins import flash_attn
from shapewright.runtime.absent.stand_ins._attention import (
    EVERYWHERE,
    SMALL,
    Window,
    attend,
    make_bias,
    number_packed,
    number_places,
    sum_exponentials,
)
from shapewright.runtime.absent.stand_ins._refusals import HALVES, require_device

SOURCE = (
    "signatures of https://github.com/Dao-AILab/flash-attention, "
    "hopper/flash_attn_interface.py, 3.0"
)
VERSION = "3.0.0"


def _require(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuse what hopper/flash_api.cpp refuses."""
    kinds = (*HALVES, torch.float8_e4m3fn)
    if q.device.type != "cpu" and q.dtype not in kinds:
        raise RuntimeError(
            "FlashAttention only supports fp16, bf16, and fp8_e4m3 data type"
        )
    require_device(q, k, v)
    if q.dtype in HALVES or q.device.type == "cpu":
        flash_attn.require_attention(q, k, v, same_width=False)


def _widen(*tensors: Tensor) -> Any:
    """Return tensors that torch multiplies: float8 becomes bfloat16, as the output."""
    return tuple(
        tensor.bfloat16() if tensor.dtype == torch.float8_e4m3fn else tensor
        for tensor in tensors
    )


def flash_attn_func(
    q: Tensor, k: Tensor, v: Tensor, softmax_scale: float | None = None,
    causal: bool = False, qv: Tensor | None = None, q_descale: Tensor | None = None,
    k_descale: Tensor | None = None, v_descale: Tensor | None = None,
    window_size: Window = EVERYWHERE, attention_chunk: int = 0, softcap: float = 0.0,
    num_splits: int = 1, pack_gqa: Any = None, deterministic: bool = False,
    sm_margin: int = 0, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (B, Tq, H, D), k (B, Tk, Hk, D), v (B, Tk, Hk, Dv): (B, Tq, H, Dv)."""
    _require(q, k, v)
    q, k, v = _widen(q, k, v)
    places = number_places(q, q.shape[1], k.shape[1])
    bias = make_bias(q, *places, None, causal, window_size, None)
    out = attend(q, k, v, softmax_scale, 0.0, softcap, bias)
    if not return_attn_probs:
        return out
    return out, sum_exponentials(q, k, softmax_scale, bias)


def flash_attn_varlen_func(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
    max_seqlen_q: int, max_seqlen_k: int, seqused_q: Tensor | None = None,
    seqused_k: Tensor | None = None, softmax_scale: float | None = None,
    causal: bool = False, qv: Tensor | None = None, q_descale: Tensor | None = None,
    k_descale: Tensor | None = None, v_descale: Tensor | None = None,
    window_size: Window = EVERYWHERE, attention_chunk: int = 0, softcap: float = 0.0,
    num_splits: int = 1, pack_gqa: Any = None, deterministic: bool = False,
    sm_margin: int = 0, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (tokens, H, D), k (tokens, Hk, D), v (tokens, Hk, Dv): (tokens, H, Dv)."""
    if q.dim() != 3:
        raise RuntimeError("q must have shape (total_q, nheads, headdim)")
    _require(q, k, v)
    flash_attn.require_ends(cu_seqlens_q, cu_seqlens_k)
    q, k, v = _widen(q, k, v)
    bias = None
    if q.shape[0] * k.shape[0] <= SMALL:
        places = number_packed(q, cu_seqlens_q, cu_seqlens_k, q.shape[0], k.shape[0])
        bias = make_bias(q, *places, causal, window_size, None)
    q, k, v = (tensor.unsqueeze(0) for tensor in (q, k, v))
    out = attend(q, k, v, softmax_scale, 0.0, softcap, bias).squeeze(0)
    if not return_attn_probs:
        return out
    return out, sum_exponentials(q, k, softmax_scale, bias)[0]


def flash_attn_qkvpacked_func(
    qkv: Tensor, softmax_scale: float | None = None, causal: bool = False,
    q_descale: Tensor | None = None, k_descale: Tensor | None = None,
    v_descale: Tensor | None = None, window_size: Window = EVERYWHERE,
    attention_chunk: int = 0, softcap: float = 0.0, deterministic: bool = False,
    num_heads_q: int | None = None, sm_margin: int = 0, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """qkv (B, T, 3, H, D), or (B, T, H + 2 Hk, D) with `num_heads_q`: (B, T, H, D)."""
    if qkv.dim() == 5:
        assert qkv.shape[-3] == 3
        q, k, v = qkv.unbind(dim=-3)
    else:
        assert qkv.dim() == 4
        assert num_heads_q is not None
        groups = (qkv.shape[2] - num_heads_q) // 2
        q, k, v = qkv.split([num_heads_q, groups, groups], dim=-2)
    return flash_attn_func(
        q, k, v, softmax_scale, causal, window_size=window_size, softcap=softcap,
        return_attn_probs=return_attn_probs,
    )  # fmt: skip


def flash_attn_with_kvcache(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None,
    v: Tensor | None = None, qv: Tensor | None = None,
    rotary_cos: Tensor | None = None, rotary_sin: Tensor | None = None,
    cache_seqlens: int | Tensor | None = None, cache_batch_idx: Tensor | None = None,
    cache_leftpad: Tensor | None = None, page_table: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None, cu_seqlens_k_new: Tensor | None = None,
    max_seqlen_q: int | None = None, rotary_seqlens: Tensor | None = None,
    q_descale: Tensor | None = None, k_descale: Tensor | None = None,
    v_descale: Tensor | None = None, softmax_scale: float | None = None,
    causal: bool = False, window_size: Window = EVERYWHERE, attention_chunk: int = 0,
    softcap: float = 0.0, rotary_interleaved: bool = True,
    scheduler_metadata: Any = None, num_splits: int = 0, pack_gqa: Any = None,
    sm_margin: int = 0, return_softmax_lse: bool = False,
) -> Any:  # fmt: skip
    """q (B, Tq, H, D), caches (B, Tk, Hk, D): (B, Tq, H, D); k and v are written into
    the caches. Pages and packed queries are as many as the caches hold.
    """
    assert k_cache.stride(-1) == 1, "k_cache must have contiguous last dimension"
    assert v_cache.stride(-1) == 1, "v_cache must have contiguous last dimension"
    if page_table is not None or cu_seqlens_q is not None:
        out = q.new_empty(*q.shape[:-1], v_cache.shape[-1])
        sums = q.new_empty(*q.shape[:-1], dtype=torch.float32).transpose(-1, -2)
        return (out, sums) if return_softmax_lse else out
    return flash_attn.flash_attn_with_kvcache(
        q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens,
        cache_batch_idx, cache_leftpad, None, softmax_scale, causal, window_size,
        softcap, rotary_interleaved, None, num_splits, return_softmax_lse,
    )  # fmt: skip


MODULES: dict[str, dict[str, Any]] = {
    "": {
        "flash_attn_func": flash_attn_func,
        "flash_attn_varlen_func": flash_attn_varlen_func,
        "flash_attn_qkvpacked_func": flash_attn_qkvpacked_func,
        "flash_attn_with_kvcache": flash_attn_with_kvcache,
    },
}
