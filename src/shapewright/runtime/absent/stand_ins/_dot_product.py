"""The attention of transformer_engine, on (sequence, batch, heads, width)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._attention import (
    attend,
    make_bias,
    number_places,
)

MASKS = (
    "no_mask", "padding", "causal", "padding_causal", "causal_padding",
    "causal_bottom_right", "padding_causal_bottom_right", "arbitrary",
)  # fmt: skip


class DotProductAttention(nn.Module):
    """query (T, B, H, D), or as `qkv_format` says: (T, B, H D)."""

    def __init__(
        self, num_attention_heads: int, kv_channels: Any,
        num_gqa_groups: int | None = None, attention_dropout: float = 0.0,
        qkv_format: str = "sbhd", attn_mask_type: str = "causal",
        window_size: tuple[int, int] | None = None,
        bottom_right_diagonal: bool | None = None, sequence_parallel: bool = False,
        tp_size: int = 1, get_rng_state_tracker: Any = None, tp_group: Any = None,
        layer_number: int | None = None, attention_type: str = "self",
        cp_group: Any = None, cp_global_ranks: Any = None, cp_stream: Any = None,
        cp_comm_type: str = "p2p", softmax_scale: float | None = None,
        softmax_type: str = "vanilla", return_max_logit: bool | None = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        groups = num_gqa_groups or num_attention_heads
        assert num_attention_heads % groups == 0, (
            "The number of attention heads must be divisible by the number of GQA "
            "groups!"
        )
        assert attention_type in ("self", "cross"), (
            f"attention_type {attention_type} not supported"
        )
        self.heads, self.groups = num_attention_heads // tp_size, groups // tp_size
        both = isinstance(kv_channels, tuple)
        self.widths = kv_channels if both else (kv_channels, kv_channels)
        self.dropout, self.qkv_format = attention_dropout, qkv_format
        self.mask, self.window = attn_mask_type, window_size
        self.scale = softmax_scale

    def forward(
        self, query_layer: Any = None, key_layer: Any = None, value_layer: Any = None,
        attention_mask: Any = None, qkv_format: str | None = None,
        cu_seqlens_q: Any = None, cu_seqlens_kv: Any = None,
        cu_seqlens_q_padded: Any = None, cu_seqlens_kv_padded: Any = None,
        max_seqlen_q: int | None = None, max_seqlen_kv: int | None = None,
        attn_mask_type: str | None = None, window_size: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> Tensor:  # fmt: skip
        layout = qkv_format or self.qkv_format
        assert layout in ("sbhd", "bshd", "thd"), (
            "DotProductAttention only supports qkv_format = {'sbhd', 'bshd', 'thd'}!"
        )
        q, k, v = query_layer, key_layer, value_layer
        self._require(q, k, v)
        mask = (attn_mask_type or self.mask).replace(",", "_")
        assert mask in MASKS, f"Attention mask type {mask} is not supported!"
        rank = 3 if layout == "thd" else 4
        assert q.dim() == k.dim() == v.dim() == rank, (
            f"Queries, keys and values must be {rank}D tensors when "
            f"qkv_format={layout!r}!"
        )
        if layout == "thd":
            assert "padding" in mask, (
                "Attention mask type must be padding or padding_causal for "
                "qkv_format=thd!"
            )
            assert cu_seqlens_q is not None, (
                "cu_seqlens_q and cu_seqlens_kv can not be None when qkv_format = thd!"
            )
        dropout = self.dropout if self.training else 0.0
        if layout == "sbhd":
            q, k, v = (part.transpose(0, 1) for part in (q, k, v))
        elif layout == "thd":
            q, k, v = (part.unsqueeze(0) for part in (q, k, v))
        places = number_places(q, q.shape[1], k.shape[1])
        if "bottom_right" not in mask:
            places = places[0] - k.shape[1] + q.shape[1], places[1]
        window = window_size or self.window or (-1, -1)
        bias = make_bias(q, *places, None, "causal" in mask, window, None)
        if isinstance(attention_mask, Tensor) and "causal" not in mask:
            hidden = torch.zeros_like(attention_mask, dtype=q.dtype)
            bias = hidden.masked_fill(attention_mask, float("-inf"))
        out = attend(q, k, v, self.scale, dropout, 0.0, bias).flatten(-2)
        if layout == "sbhd":
            return out.transpose(0, 1).contiguous()
        return out.squeeze(0) if layout == "thd" else out

    def _require(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Refuse what the original refuses of queries, keys and values."""
        assert q.dtype == k.dtype == v.dtype, (
            "Queries, keys and values must have the same data type!"
        )
        assert k.shape[:-1] == v.shape[:-1], (
            "Keys and values must have the same batch size, sequence length and number "
            "of heads!"
        )
        assert q.shape[-1] == k.shape[-1], (
            "Queries and keys must have the same head dimension!"
        )
        for name, part, width in (("Keys", k, 0), ("Values", v, 1)):
            assert part.shape[-1] == self.widths[width], (
                f"{name} have head_dim = {part.shape[-1]}, but expected head_dim = "
                f"{self.widths[width]}!"
            )
        assert k.shape[-2] == self.groups, (
            f"Keys and values must have num_gqa_group = {self.groups} heads! "
            f"Found {k.shape[-2]}."
        )
