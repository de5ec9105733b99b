"""vllm: operators of `vllm._custom_ops`, which write into what they are passed."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

SOURCE = (
    "signatures of https://github.com/vllm-project/vllm/blob/main/vllm/_custom_ops.py, "
    "0.11"
)
VERSION = "0.11.0"


def rms_norm(out: Tensor, input: Tensor, weight: Tensor | None, epsilon: float) -> None:
    """out and input (..., H), weight (H,): `out` is written."""
    if out.shape != input.shape:
        raise RuntimeError(f"out must have shape {tuple(input.shape)}")
    with torch.no_grad():
        out.copy_(F.rms_norm(input, [input.shape[-1]], weight, epsilon))


def fused_add_rms_norm(
    input: Tensor, residual: Tensor, weight: Tensor | None, epsilon: float
) -> None:
    """input and residual (..., H): their sum is in `residual`, its norm in `input`."""
    if residual.shape != input.shape:
        raise RuntimeError(f"residual must have shape {tuple(input.shape)}")
    with torch.no_grad():
        residual.add_(input)
        input.copy_(F.rms_norm(residual, [input.shape[-1]], weight, epsilon))


def rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor | None, head_size: int,
    cos_sin_cache: Tensor, is_neox: bool, rope_dim_offset: int = 0,
    inverse: bool = False,
) -> None:  # fmt: skip
    """positions (tokens,), query (tokens, H head_size) or (tokens, H, head_size), key
    the same with fewer heads, cos_sin_cache (places, R): query and key are turned.
    """
    cos, sin = cos_sin_cache[positions.flatten()].chunk(2, -1)
    sin = -sin if inverse else sin
    for tensor in (query,) if key is None else (query, key):
        if tensor.numel() % (len(cos) * head_size):
            raise RuntimeError(f"query must have heads of {head_size}")
        heads = tensor.view(len(cos), -1, head_size)
        end = rope_dim_offset + 2 * cos.shape[-1]
        part = heads[..., rope_dim_offset:end]
        a, b = part.chunk(2, -1) if is_neox else (part[..., ::2], part[..., 1::2])
        c, s = cos[:, None].to(part.dtype), sin[:, None].to(part.dtype)
        pair = (a * c - b * s, b * c + a * s)
        turned = torch.cat(pair, -1) if is_neox else torch.stack(pair, -1).flatten(-2)
        with torch.no_grad():
            part.copy_(turned)


def reshape_and_cache_flash(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor,
    slot_mapping: Tensor, kv_cache_dtype: str, k_scale: Any, v_scale: Any,
) -> None:  # fmt: skip
    """key and value (tokens, H, D), caches (blocks, block, H, D), slot_mapping
    (tokens,): the caches are written.
    """
    for new, cache in ((key, key_cache), (value, value_cache)):
        if new.shape[1:] != cache.shape[2:]:
            raise RuntimeError(f"key must have shape (tokens, {cache.shape[2]}, ...)")
        slots = slot_mapping.long()
        block = cache.shape[1]
        with torch.no_grad():
            rows = new[: len(slots)].to(cache.dtype)
            cache.index_put_((slots // block, slots % block), rows)


_OPS = {
    function.__name__: function
    for function in (
        rms_norm,
        fused_add_rms_norm,
        rotary_embedding,
        reshape_and_cache_flash,
    )
}
MODULES: dict[str, dict[str, Any]] = {"": {}, "_custom_ops": _OPS}
