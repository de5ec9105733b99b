"""xformers: attention on (batch, sequence, heads, width), with a bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._attention import (
    EVERYWHERE,
    SMALL,
    attend,
    make_bias,
    number_packed,
)
from shapewright.runtime.absent.stand_ins._refusals import require_device

SOURCE = "signatures of https://facebookresearch.github.io/xformers, 0.0.32"
VERSION = "0.0.32"


class AttentionBias:
    """A mask that is no tensor."""

    def make(self, query: Tensor, key: Tensor) -> Tensor | None:
        """query (B, Tq, H, D), key (B, Tk, H, D): what is added to scores, or None."""
        raise NotImplementedError


class LowerTriangularMask(AttentionBias):
    """A mask of the future, aligned at the first query and the first key."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def make(self, query: Tensor, key: Tensor) -> Tensor | None:
        """Return minus infinity for keys behind a query."""
        rows = torch.arange(query.shape[1], device=query.device)[:, None]
        columns = torch.arange(key.shape[1], device=query.device)[None]
        return make_bias(query, rows, columns, None, True, EVERYWHERE, None)


class LowerTriangularFromBottomRightMask(AttentionBias):
    """A mask of the future, aligned at the last query and the last key."""

    def make(self, query: Tensor, key: Tensor) -> Tensor | None:
        """Return minus infinity for keys behind a query."""
        rows = torch.arange(query.shape[1], device=query.device)[:, None]
        columns = torch.arange(key.shape[1], device=query.device)[None]
        rows = rows + (key.shape[1] - query.shape[1])
        return make_bias(query, rows, columns, None, True, EVERYWHERE, None)


class BlockDiagonalMask(AttentionBias):
    """A mask between sequences that lie behind each other in one row."""

    causal = False

    def __init__(self, q_seqlen: Sequence[int], kv_seqlen: Sequence[int]) -> None:
        self.q_seqlen, self.kv_seqlen = list(q_seqlen), list(kv_seqlen)
        self.batch_sizes = [1] * len(self.q_seqlen)

    @classmethod
    def from_seqlens(
        cls, q_seqlen: Sequence[int], kv_seqlen: Sequence[int] | None = None, *,
        device: Any = None,
    ) -> BlockDiagonalMask:  # fmt: skip
        """Return the mask of sequences of these lengths."""
        assert kv_seqlen is None or len(q_seqlen) == len(kv_seqlen)
        return cls(q_seqlen, q_seqlen if kv_seqlen is None else kv_seqlen)

    @classmethod
    def from_tensor_list(
        cls, tensors: Sequence[Tensor]
    ) -> tuple[BlockDiagonalMask, Tensor]:
        """tensors (B, T, ...): the mask, and all in one row (1, tokens, ...)."""
        lengths = [part.shape[1] for part in tensors for _ in range(part.shape[0])]
        rows = [part.reshape(1, -1, *part.shape[2:]) for part in tensors]
        mask = cls(lengths, lengths)
        mask.batch_sizes = [part.shape[0] for part in tensors]
        return mask, torch.cat(rows, 1)

    def split(self, tensor: Tensor) -> list[Tensor]:
        """tensor (1, tokens, ...): the sequences (B, T, ...), as they were joined."""
        if tensor.shape[0] != 1 or tensor.shape[1] != sum(self.q_seqlen):
            raise ValueError(
                f"Invalid `torch.Tensor` of shape {tensor.shape}, expected format "
                f"(B, M, *) with B=1 and M={sum(self.q_seqlen)}"
            )
        lengths, place = [], 0
        for size in self.batch_sizes:
            lengths.append(sum(self.q_seqlen[place : place + size]))
            place += size
        return [
            part.reshape(size, -1, *tensor.shape[2:])
            for size, part in zip(
                self.batch_sizes, tensor.split(lengths, 1), strict=True
            )
        ]

    def make_causal(self) -> BlockDiagonalMask:
        """Return the mask that also hides the future in each sequence."""
        mask = BlockDiagonalCausalMask(self.q_seqlen, self.kv_seqlen)
        mask.batch_sizes = self.batch_sizes
        return mask

    def make(self, query: Tensor, key: Tensor) -> Tensor | None:
        """Return minus infinity for keys of another sequence."""
        if query.shape[0] != 1 or query.shape[1] != sum(self.q_seqlen):
            raise ValueError(
                f"Invalid shapes for BlockDiagonalMask: query {tuple(query.shape)}, "
                f"sequences of {sum(self.q_seqlen)}"
            )
        if query.shape[1] * key.shape[1] > SMALL:
            return None
        ends = [
            torch.tensor([0, *lengths], device=query.device).cumsum(0)
            for lengths in (self.q_seqlen, self.kv_seqlen)
        ]
        rows, columns, same = number_packed(
            query, ends[0], ends[1], query.shape[1], key.shape[1], from_start=True
        )
        return make_bias(query, rows, columns, same, self.causal, EVERYWHERE, None)


class BlockDiagonalCausalMask(BlockDiagonalMask):
    """A mask between sequences, and of the future in each."""

    causal = True


def memory_efficient_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Any = None, p: float = 0.0,
    scale: float | None = None, *, op: Any = None, output_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """(B, T, H, D), (B, T, D) for one head, or (B, T, G, H, D): (B, T, H, Dv), ..."""
    require_device(query, key, value)
    if query.dim() not in (3, 4, 5) or not query.dim() == key.dim() == value.dim():
        raise ValueError(
            f"Invalid shape for query: {query.shape}. Expected shape [batch, seqlen,"
            " head_groups, num_heads_per_group, K], [batch, seqlen, num_heads, K], or"
            " [batch, seqlen, K]."
        )
    if len({query.dtype, key.dtype, value.dtype}) > 1:
        raise ValueError("Query/Key/Value should either all have the same dtype")
    fits = query.shape[0] == key.shape[0] and query.shape[-1] == key.shape[-1]
    if not fits or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"Incompatible shapes for attention inputs: {tuple(query.shape)},"
            f" {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if query.shape[2:-1] != key.shape[2:-1]:
        raise ValueError(
            f"Incompatible shapes for attention inputs: {tuple(query.shape)},"
            f" {tuple(key.shape)}, {tuple(value.shape)}"
        )
    heads = query.shape[2:-1]
    query, key, value = (
        part.unsqueeze(2) if part.dim() == 3 else part.flatten(2, -2)
        for part in (query, key, value)
    )
    if isinstance(attn_bias, AttentionBias):
        attn_bias = attn_bias.make(query, key)
    elif isinstance(attn_bias, Tensor):
        attn_bias = attn_bias.unsqueeze(1) if attn_bias.dim() == 3 else attn_bias
        attn_bias = attn_bias.flatten(1, 2) if attn_bias.dim() == 5 else attn_bias
        whole = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
        if (
            tuple(attn_bias.shape) != whole
            and tuple(attn_bias.shape[-2:]) != whole[-2:]
        ):
            raise ValueError(
                f"Invalid shape for attention bias: {tuple(attn_bias.shape)} "
                f"(expected {whole})"
            )
    out = attend(query, key, value, scale, p, 0.0, attn_bias)
    out = out.view(*out.shape[:2], *heads, out.shape[-1])
    return out if output_dtype is None else out.to(output_dtype)


class SwiGLU(nn.Module):
    """(..., in_features): (..., out_features)."""

    def __init__(
        self, in_features: int, hidden_features: int, out_features: int | None = None,
        bias: bool = True, *, _pack_weights: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        out_features = out_features or in_features
        if _pack_weights:
            self.w12 = nn.Linear(in_features, 2 * hidden_features, bias=bias)
        else:
            self.w12 = None  # type: ignore[assignment]
            self.w1 = nn.Linear(in_features, hidden_features, bias=bias)
            self.w2 = nn.Linear(in_features, hidden_features, bias=bias)
        self.w3 = nn.Linear(hidden_features, out_features, bias=bias)

    def forward(self, x: Tensor) -> Any:
        if self.w12 is None:
            return self.w3(F.silu(self.w1(x)) * self.w2(x))
        gate, up = self.w12(x).chunk(2, dim=-1)
        return self.w3(F.silu(gate) * up)


def swiglu(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None,
    w3: Tensor, b3: Tensor | None, *, op: Any = None,
) -> Tensor:  # fmt: skip
    """x (..., I), w1 and w2 (H, I), w3 (O, H): (..., O)."""
    return F.linear(F.silu(F.linear(x, w1, b1)) * F.linear(x, w2, b2), w3, b3)


def unbind(x: Tensor, dim: int) -> tuple[Tensor, ...]:
    """As `torch.unbind`."""
    return x.unbind(dim)


_MASKS = {
    kind.__name__: kind
    for kind in (
        AttentionBias, LowerTriangularMask, LowerTriangularFromBottomRightMask,
        BlockDiagonalMask, BlockDiagonalCausalMask,
    )
}  # fmt: skip
_OPS: dict[str, Any] = {
    "memory_efficient_attention": memory_efficient_attention, "SwiGLU": SwiGLU,
    "swiglu": swiglu, "unbind": unbind, "LowerTriangularMask": LowerTriangularMask,
    "AttentionBias": AttentionBias,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "ops": _OPS,
    "ops.fmha": {"memory_efficient_attention": memory_efficient_attention, **_MASKS},
    "ops.fmha.attn_bias": _MASKS,
}  # fmt: skip
