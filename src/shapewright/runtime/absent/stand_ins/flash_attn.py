"""flash_attn: attention on (batch, sequence, heads, width)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._refusals import (
    require_device,
    require_half,
    require_head_dim,
)

SOURCE = "signatures of https://github.com/Dao-AILab/flash-attention, 2.8"
VERSION = "2.8.0"


def _attend(q: Tensor, k: Tensor, v: Tensor, dropout_p: float, causal: bool) -> Tensor:
    """Return attention of (B, T, H, D), with fewer heads for keys and values."""
    require_half("FlashAttention", q, k, v)
    require_device(q, k, v)
    require_head_dim(q.shape[-1])
    if q.shape[2] % k.shape[2]:
        raise RuntimeError(
            "Number of heads in key/value must divide number of heads in query"
        )
    if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[-1] != q.shape[-1]:
        raise RuntimeError(
            f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} do not fit"
        )
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    causal = causal and q.shape[2] == k.shape[2]
    out = F.scaled_dot_product_attention(
        q, k, v, dropout_p=dropout_p, is_causal=causal, enable_gqa=True
    )
    return out.transpose(1, 2).contiguous()


def flash_attn_func(
    q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0,
    softmax_scale: float | None = None, causal: bool = False,
    window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
    alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (B, Tq, H, D), k and v (B, Tk, Hk, D): (B, Tq, H, D)."""
    out = _attend(q, k, v, dropout_p, causal)
    if not return_attn_probs:
        return out
    batch, steps, heads, _ = q.shape
    return out, q.new_zeros(batch, heads, steps, dtype=torch.float32), None


def flash_attn_kvpacked_func(q: Tensor, kv: Tensor, *args: Any, **kwargs: Any) -> Any:
    """q (B, Tq, H, D), kv (B, Tk, 2, Hk, D): (B, Tq, H, D)."""
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], *args, **kwargs)


def flash_attn_qkvpacked_func(qkv: Tensor, *args: Any, **kwargs: Any) -> Any:
    """qkv (B, T, 3, H, D): (B, T, H, D)."""
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], *args, **kwargs)


def flash_attn_varlen_func(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
    max_seqlen_q: int, max_seqlen_k: int, dropout_p: float = 0.0,
    softmax_scale: float | None = None, causal: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """q (tokens, H, D), k and v (tokens, Hk, D), with the ends of the sequences as
    int32: (tokens, H, D).
    """
    if q.dim() != 3:
        raise RuntimeError("q must have shape (total_q, nheads, headdim)")
    for ends in (cu_seqlens_q, cu_seqlens_k):
        if ends.dtype != torch.int32:
            raise RuntimeError("cu_seqlens_q must have dtype int32")
    q, k, v = (tensor.unsqueeze(0) for tensor in (q, k, v))
    return _attend(q, k, v, dropout_p, causal).squeeze(0)


def flash_attn_varlen_qkvpacked_func(
    qkv: Tensor, cu_seqlens: Tensor, max_seqlen: int, *args: Any, **kwargs: Any
) -> Any:
    """qkv (tokens, 3, H, D): (tokens, H, D)."""
    q, k, v = qkv.unbind(1)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args, **kwargs
    )


def flash_attn_varlen_kvpacked_func(
    q: Tensor, kv: Tensor, *args: Any, **kwargs: Any
) -> Any:
    """q (tokens, H, D), kv (tokens, 2, Hk, D): (tokens, H, D)."""
    return flash_attn_varlen_func(q, kv[:, 0], kv[:, 1], *args, **kwargs)


def flash_attn_with_kvcache(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None,
    v: Tensor | None = None, *args: Any, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """q (B, Tq, H, D), caches (B, Tk, Hk, D): (B, Tq, H, D)."""
    return _attend(q, k_cache, v_cache, 0.0, False)


def unpad_input(
    hidden_states: Tensor, attention_mask: Tensor, unused_mask: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, int, Tensor]:
    """hidden_states (B, T, ...), attention_mask (B, T): the rows of the tokens, their
    places, the ends of the sequences, the longest, their lengths.
    """
    lengths = attention_mask.sum(dim=-1, dtype=torch.int32)
    places = torch.nonzero(attention_mask.flatten(), as_tuple=False).flatten()
    ends = F.pad(torch.cumsum(lengths, dim=0, dtype=torch.int32), (1, 0))
    rows = hidden_states.flatten(0, 1)[places]
    return rows, places, ends, attention_mask.shape[1], lengths


def pad_input(
    hidden_states: Tensor, indices: Tensor, batch: int, seqlen: int
) -> Tensor:
    """hidden_states (tokens, ...): (batch, seqlen, ...)."""
    out = hidden_states.new_zeros(batch * seqlen, *hidden_states.shape[1:])
    out[indices] = hidden_states
    return out.view(batch, seqlen, *hidden_states.shape[1:])


def index_first_axis(x: Tensor, indices: Tensor) -> Tensor:
    """x (rows, ...): the rows at these places."""
    return x[indices]


def apply_rotary_emb(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False,
    inplace: bool = False, *args: Any, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """x (B, T, H, D), cos and sin (T, D / 2): x, turned."""
    if 2 * cos.shape[-1] > x.shape[-1] or cos.shape != sin.shape:
        raise AssertionError("rotary_dim must be <= headdim")
    return x * 1


class FlashSelfAttention(nn.Module):
    """qkv (B, T, 3, H, D): (B, T, H, D)."""

    def __init__(
        self, causal: bool = False, softmax_scale: float | None = None,
        attention_dropout: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.causal, self.softmax_scale = causal, softmax_scale
        self.drop = nn.Dropout(attention_dropout)

    def forward(self, qkv: Tensor, *args: Any, **kwargs: Any) -> Any:
        return flash_attn_qkvpacked_func(qkv, causal=self.causal)


class RMSNorm(nn.RMSNorm):
    """The last dim, divided by its root mean square."""

    def __init__(self, hidden_size: int, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(hidden_size, eps=eps)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """logits (rows, classes), labels (rows,)."""

    def __init__(self, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(None, None, ignore_index, None, reduction, label_smoothing)


_INTERFACE = {
    "flash_attn_func": flash_attn_func,
    "flash_attn_kvpacked_func": flash_attn_kvpacked_func,
    "flash_attn_qkvpacked_func": flash_attn_qkvpacked_func,
    "flash_attn_varlen_func": flash_attn_varlen_func,
    "flash_attn_varlen_kvpacked_func": flash_attn_varlen_kvpacked_func,
    "flash_attn_varlen_qkvpacked_func": flash_attn_varlen_qkvpacked_func,
    "flash_attn_with_kvcache": flash_attn_with_kvcache,
}
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
