"""xformers: attention on (batch, sequence, heads, width), with a bias."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._refusals import require_device

SOURCE = "signatures of https://facebookresearch.github.io/xformers, 0.0.32"
VERSION = "0.0.32"


def memory_efficient_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Any = None, p: float = 0.0,
    scale: float | None = None, *, op: Any = None, output_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """(B, T, H, D), or (B, T, D) for one head: (B, T, H, D)."""
    require_device(query, key, value)
    if query.dim() not in (3, 4):
        raise ValueError(
            f"Invalid shape for query: {query.shape}. Expected shape [batch, seqlen,"
            " head_groups, num_heads_per_group, K], [batch, seqlen, num_heads, K], or"
            " [batch, seqlen, K]."
        )
    if len({query.dtype, key.dtype, value.dtype}) > 1:
        raise ValueError("Query/Key/Value should either all have the same dtype")
    if key.shape[:-1] != value.shape[:-1] or query.shape[2:-1] != key.shape[2:-1]:
        raise ValueError(
            f"Incompatible shapes for attention inputs: {tuple(query.shape)},"
            f" {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if query.dim() == 3:
        return F.scaled_dot_product_attention(query, key, value, dropout_p=p)
    mask = attn_bias if isinstance(attn_bias, Tensor) else None
    query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
    causal = type(attn_bias).__name__ == "LowerTriangularMask"
    out = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=p, is_causal=causal
    )
    return out.transpose(1, 2)


class LowerTriangularMask:
    """A mask of the future."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


class BlockDiagonalMask:
    """A mask between sequences that lie behind each other in one row."""

    @classmethod
    def from_seqlens(cls, q_seqlen: Any, kv_seqlen: Any = None) -> BlockDiagonalMask:
        """Return the mask of sequences of these lengths."""
        return cls()


class SwiGLU(nn.Module):
    """(..., in_features): (..., out_features)."""

    def __init__(
        self, in_features: int, hidden_features: int, out_features: int | None = None,
        bias: bool = True, *, _pack_weights: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        out_features = out_features or in_features
        self.w12 = nn.Linear(in_features, 2 * hidden_features, bias=bias)
        self.w3 = nn.Linear(hidden_features, out_features, bias=bias)

    def forward(self, x: Tensor) -> Any:
        gate, up = self.w12(x).chunk(2, dim=-1)
        return self.w3(F.silu(gate) * up)


_OPS = {
    "memory_efficient_attention": memory_efficient_attention,
    "LowerTriangularMask": LowerTriangularMask, "SwiGLU": SwiGLU,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "ops": _OPS,
    "ops.fmha": {"memory_efficient_attention": memory_efficient_attention,
                 "BlockDiagonalMask": BlockDiagonalMask},
    "ops.fmha.attn_bias": {"LowerTriangularMask": LowerTriangularMask,
                           "BlockDiagonalMask": BlockDiagonalMask},
}  # fmt: skip
