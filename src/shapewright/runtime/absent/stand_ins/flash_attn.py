"""flash_attn: attention on (batch, sequence, heads, width)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
from shapewright.runtime.absent.stand_ins._layers import CrossEntropyLoss, RMSNorm
from shapewright.runtime.absent.stand_ins._refusals import (
    require_device,
    require_half,
    require_head_dim,
)

SOURCE = "signatures of https://github.com/Dao-AILab/flash-attention, 2.8"
VERSION = "2.8.0"


def require_attention(q: Tensor, k: Tensor, v: Tensor, same_width: bool = True) -> None:
    """Refuse what csrc/flash_attn/flash_api.cpp refuses of (..., T, H, D)."""
    require_half("FlashAttention", q, k, v)
    require_device(q, k, v)
    require_head_dim(q.shape[-1])
    if q.shape[-2] % k.shape[-2]:
        raise RuntimeError(
            "Number of heads in key/value must divide number of heads in query"
        )
    widths = k.shape[-1] == q.shape[-1] and (not same_width or k.shape == v.shape)
    packed = q.dim() == 3
    if not widths or k.shape[:-1] != v.shape[:-1] or (not packed and len(q) != len(k)):
        raise RuntimeError(
            f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} do not fit"
        )


def flash_attn_func(
    q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0,
    softmax_scale: float | None = None, causal: bool = False,
    window_size: Window = EVERYWHERE, softcap: float = 0.0,
    alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (B, Tq, H, D), k and v (B, Tk, Hk, D): (B, Tq, H, D)."""
    require_attention(q, k, v)
    steps, keys = q.shape[1], k.shape[1]
    places = number_places(q, steps, keys)
    bias = make_bias(q, *places, None, causal, window_size, alibi_slopes)
    out = attend(q, k, v, softmax_scale, dropout_p, softcap, bias)
    if not return_attn_probs:
        return out
    sizes = (0,)
    if dropout_p:
        sizes = (*q.shape[::2][:2], -(-steps // 128) * 128, -(-keys // 128) * 128)
    return out, sum_exponentials(q, k, softmax_scale, bias), q.new_empty(sizes)


def flash_attn_kvpacked_func(
    q: Tensor, kv: Tensor, dropout_p: float = 0.0, softmax_scale: float | None = None,
    causal: bool = False, window_size: Window = EVERYWHERE, softcap: float = 0.0,
    alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (B, Tq, H, D), kv (B, Tk, 2, Hk, D): (B, Tq, H, D)."""
    return flash_attn_func(
        q, kv[:, :, 0], kv[:, :, 1], dropout_p, softmax_scale, causal, window_size,
        softcap, alibi_slopes, deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_qkvpacked_func(
    qkv: Tensor, dropout_p: float = 0.0, softmax_scale: float | None = None,
    causal: bool = False, window_size: Window = EVERYWHERE, softcap: float = 0.0,
    alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """qkv (B, T, 3, H, D): (B, T, H, D)."""
    return flash_attn_func(
        qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], dropout_p, softmax_scale, causal,
        window_size, softcap, alibi_slopes, deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_varlen_func(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
    max_seqlen_q: int, max_seqlen_k: int, dropout_p: float = 0.0,
    softmax_scale: float | None = None, causal: bool = False,
    window_size: Window = EVERYWHERE, softcap: float = 0.0,
    alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False, block_table: Tensor | None = None,
) -> Any:  # fmt: skip
    """q (tokens, H, D), k and v (tokens, Hk, D), with the ends of the sequences as
    int32: (tokens, H, D). With `block_table` (B, blocks), k and v are pages
    (pages, page, Hk, D).
    """
    if q.dim() != 3:
        raise RuntimeError("q must have shape (total_q, nheads, headdim)")
    if block_table is not None:
        k, v = (tensor.flatten(0, 1) for tensor in (k, v))
    require_attention(q, k, v)
    require_ends(cu_seqlens_q, cu_seqlens_k)
    bias = None
    if q.shape[0] * k.shape[0] <= SMALL and block_table is None:
        rows, columns, same = number_packed(
            q, cu_seqlens_q, cu_seqlens_k, q.shape[0], k.shape[0]
        )
        bias = make_bias(q, rows, columns, same, causal, window_size, None)
    q, k, v = (tensor.unsqueeze(0) for tensor in (q, k, v))
    out = attend(q, k, v, softmax_scale, dropout_p, softcap, bias).squeeze(0)
    if not return_attn_probs:
        return out
    return out, sum_exponentials(q, k, softmax_scale, bias)[0], q.new_empty(0)


def require_ends(*ends: Tensor) -> None:
    """Refuse ends of sequences that are not int32."""
    for name, tensor in zip(("cu_seqlens_q", "cu_seqlens_k"), ends, strict=False):
        if tensor.dtype != torch.int32:
            raise RuntimeError(f"{name} must have dtype int32")


def flash_attn_varlen_qkvpacked_func(
    qkv: Tensor, cu_seqlens: Tensor, max_seqlen: int, dropout_p: float = 0.0,
    softmax_scale: float | None = None, causal: bool = False,
    window_size: Window = EVERYWHERE, softcap: float = 0.0,
    alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """qkv (tokens, 3, H, D): (tokens, H, D)."""
    q, k, v = qkv.unbind(1)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, dropout_p,
        softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
        return_attn_probs,
    )  # fmt: skip


def flash_attn_varlen_kvpacked_func(
    q: Tensor, kv: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
    max_seqlen_q: int, max_seqlen_k: int, dropout_p: float = 0.0,
    softmax_scale: float | None = None, causal: bool = False,
    window_size: Window = EVERYWHERE, softcap: float = 0.0,
    alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (tokens, H, D), kv (tokens, 2, Hk, D): (tokens, H, D)."""
    return flash_attn_varlen_func(
        q, kv[:, 0], kv[:, 1], cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
        dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_with_kvcache(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None,
    v: Tensor | None = None, rotary_cos: Tensor | None = None,
    rotary_sin: Tensor | None = None, cache_seqlens: int | Tensor | None = None,
    cache_batch_idx: Tensor | None = None, cache_leftpad: Tensor | None = None,
    block_table: Tensor | None = None, softmax_scale: float | None = None,
    causal: bool = False, window_size: Window = EVERYWHERE, softcap: float = 0.0,
    rotary_interleaved: bool = True, alibi_slopes: Tensor | None = None,
    num_splits: int = 0, return_softmax_lse: bool = False,
) -> Any:  # fmt: skip
    """q (B, Tq, H, D), caches (B, Tk, Hk, D), or pages (pages, page, Hk, D) with
    `block_table` (B, blocks): (B, Tq, H, D). k and v (B, new, Hk, D) are written into
    the caches, from `cache_seqlens` on. It has no gradients.
    """
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        assert cache.stride(-1) == 1, f"{name} must have contiguous last dimension"
    if block_table is not None and k_cache.shape[1] % 256:
        raise RuntimeError("Paged KV cache block size must be divisible by 256")
    with torch.no_grad():
        return _attend_to_cache(
            q, k_cache, v_cache, k, v, (rotary_cos, rotary_sin, rotary_interleaved),
            cache_seqlens, cache_batch_idx, block_table, softmax_scale, causal,
            window_size, softcap, alibi_slopes, return_softmax_lse,
        )  # fmt: skip


def _attend_to_cache(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Any, v: Any, rotary: Any,
    cache_seqlens: Any, rows: Any, block_table: Any, scale: Any, causal: bool,
    window: Window, softcap: float, slopes: Any, with_sums: bool,
) -> Any:  # fmt: skip
    batch, steps = q.shape[:2]
    if block_table is not None:
        keys = block_table.shape[1] * k_cache.shape[1]
    else:
        keys = k_cache.shape[1]
    if cache_seqlens is None:
        cache_seqlens = 0 if k is not None else keys
    if not isinstance(cache_seqlens, Tensor):
        cache_seqlens = torch.full((batch,), cache_seqlens, device=q.device)
    lengths = cache_seqlens.long()
    if k is not None:
        if k.shape[1] > keys:
            raise RuntimeError(
                "If key is supplied, it must have seqlen <= the seqlen of the KV cache"
            )
        cos, sin, interleaved = rotary
        if cos is not None:
            k = apply_rotary_emb(k, cos, sin, interleaved, False, lengths)
            q = apply_rotary_emb(q, cos, sin, interleaved, False, lengths)
        places = lengths[:, None] + torch.arange(k.shape[1], device=q.device)
        _write_cache(k_cache, k, places, rows, block_table)
        _write_cache(v_cache, v, places, rows, block_table)
        lengths = lengths + k.shape[1]
    read = rows.long() if rows is not None else slice(batch)
    if block_table is not None:
        k_cache, v_cache = (
            cache[block_table.long()].flatten(1, 2) for cache in (k_cache, v_cache)
        )
        read = slice(batch)
    k_cache, v_cache = k_cache[read], v_cache[read]
    require_attention(q, k_cache, v_cache)
    row, column = number_places(q, steps, 0)
    column = torch.arange(keys, device=q.device)[None]
    aligned = row + lengths[:, None, None]
    there = (column < lengths[:, None, None]).expand(-1, steps, -1)
    bias = make_bias(q, aligned, column, there, causal, window, slopes)
    out = attend(q, k_cache, v_cache, scale, 0.0, softcap, bias)
    if not with_sums:
        return out
    return out, sum_exponentials(q, k_cache, scale, bias)


def _write_cache(
    cache: Tensor, new: Tensor, places: Tensor, rows: Any, block_table: Any
) -> None:
    """Write (B, new, Hk, D) into a cache, or into its pages, at (B, new)."""
    if new.shape[0] != places.shape[0] or new.shape[2:] != cache.shape[2:]:
        raise RuntimeError(f"k must have shape (B, new, {cache.shape[2]}, ...)")
    if block_table is None:
        batch = torch.arange(new.shape[0], device=new.device) if rows is None else rows
        cache.index_put_((batch.long()[:, None], places), new)
        return
    page = cache.shape[1]
    pages = block_table.long().gather(1, places // page)
    cache.index_put_((pages, places % page), new)


def unpad_input(
    hidden_states: Tensor, attention_mask: Tensor, unused_mask: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, int, Tensor]:
    """hidden_states (B, T, ...), attention_mask (B, T): the rows of the tokens, their
    places, the ends of the sequences, the longest (which is taken as T), their lengths.
    """
    used = attention_mask.sum(dim=-1, dtype=torch.int32)
    whole = attention_mask if unused_mask is None else attention_mask + unused_mask
    places = torch.nonzero(whole.flatten(), as_tuple=False).flatten()
    lengths = whole.sum(dim=-1, dtype=torch.int32)
    ends = F.pad(torch.cumsum(lengths, dim=0, dtype=torch.int32), (1, 0))
    rows = hidden_states.flatten(0, 1)[places]
    return rows, places, ends, attention_mask.shape[1], used


def pad_input(
    hidden_states: Tensor, indices: Tensor, batch: int, seqlen: int
) -> Tensor:
    """hidden_states (tokens, ...): (batch, seqlen, ...)."""
    out = hidden_states.new_zeros(batch * seqlen, *hidden_states.shape[1:])
    out[indices] = hidden_states
    return out.view(batch, seqlen, *hidden_states.shape[1:])


def index_first_axis(input: Tensor, indices: Tensor) -> Tensor:
    """input (rows, ...): the rows at these places."""
    return input[indices]


def apply_rotary_emb(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False,
    inplace: bool = False, seqlen_offsets: int | Tensor = 0,
    cu_seqlens: Tensor | None = None, max_seqlen: int | None = None,
) -> Tensor:  # fmt: skip
    """x (B, T, H, D) or (tokens, H, D), cos and sin (T or more, R / 2): x, whose first
    R features are turned, as `apply_rotary_emb_torch` of
    flash_attn/layers/rotary.py does.
    """
    width = 2 * cos.shape[-1]
    assert width <= x.shape[-1], "rotary_dim must be <= headdim"
    assert cos.shape == sin.shape, "cos and sin must have the same shape"
    steps = x.shape[-3]
    if cu_seqlens is None:
        if isinstance(seqlen_offsets, int):
            assert cos.shape[0] >= steps + seqlen_offsets, "seqlen_ro must be >= seqlen"
        places = torch.arange(steps, device=x.device)
        if isinstance(seqlen_offsets, Tensor):
            places = places + seqlen_offsets.long()[:, None]
        else:
            places = places + seqlen_offsets
    else:
        rows = torch.arange(steps, device=x.device)
        starts = cu_seqlens.long()
        places = rows - starts[torch.bucketize(rows, starts[1:-1], right=True)]
    cos, sin = cos[places].unsqueeze(-2), sin[places].unsqueeze(-2)
    turned, rest = x[..., :width], x[..., width:]
    if interleaved:
        a, b = turned[..., ::2], turned[..., 1::2]
        pair = torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
    else:
        a, b = turned.chunk(2, -1)
        pair = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
    out = torch.cat((pair.to(x.dtype), rest), -1)
    return x.copy_(out) if inplace else out


class FlashSelfAttention(nn.Module):
    """qkv (B, T, 3, H, D), or (tokens, 3, H, D): (B, T, H, D), or (tokens, H, D)."""

    def __init__(
        self, causal: bool = False, softmax_scale: float | None = None,
        attention_dropout: float = 0.0, window_size: Window = EVERYWHERE,
        alibi_slopes: Tensor | None = None, deterministic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.causal, self.softmax_scale = causal, softmax_scale
        self.drop = nn.Dropout(attention_dropout)
        self.window_size = window_size

    def forward(
        self, qkv: Tensor, causal: bool | None = None, cu_seqlens: Any = None,
        max_seqlen: int | None = None,
    ) -> Any:  # fmt: skip
        causal = self.causal if causal is None else causal
        dropout = self.drop.p if self.training else 0.0
        options = (dropout, self.softmax_scale, causal, self.window_size)
        if cu_seqlens is None:
            return flash_attn_qkvpacked_func(qkv, *options)
        return flash_attn_varlen_qkvpacked_func(
            qkv, cu_seqlens, max_seqlen or 0, *options
        )


_INTERFACE = {
    function.__name__: function
    for function in (
        flash_attn_func, flash_attn_kvpacked_func, flash_attn_qkvpacked_func,
        flash_attn_varlen_func, flash_attn_varlen_kvpacked_func,
        flash_attn_varlen_qkvpacked_func, flash_attn_with_kvcache,
    )
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": _INTERFACE,
    "flash_attn_interface": _INTERFACE,
    "bert_padding": {
        "unpad_input": unpad_input, "pad_input": pad_input,
        "index_first_axis": index_first_axis,
    },
    "layers": {}, "layers.rotary": {"apply_rotary_emb": apply_rotary_emb},
    "modules": {}, "modules.mha": {"FlashSelfAttention": FlashSelfAttention},
    "ops": {}, "ops.rms_norm": {"RMSNorm": RMSNorm},
    "ops.triton": {}, "ops.triton.layer_norm": {"RMSNorm": RMSNorm},
    "losses": {}, "losses.cross_entropy": {"CrossEntropyLoss": CrossEntropyLoss},
}  # fmt: skip
