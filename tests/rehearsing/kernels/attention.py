"""Attention, and states in a sequence."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from shapewright.runtime.absent.stand_ins import (
    causal_conv1d,
    flash_attn,
    flash_attn_interface,
    mamba_ssm,
    transformer_engine,
    xformers,
)
from tests.rehearsing.kernels import Row

Q, KV = torch.randn(2, 3, 4, 8), torch.randn(2, 5, 2, 2, 8)
K, V = KV.unbind(2)
QKV = torch.randn(2, 5, 3, 4, 8)
ENDS_Q, ENDS_K = (
    torch.tensor([0, 1, 3], dtype=torch.int32),
    torch.tensor([0, 3, 5], dtype=torch.int32),
)  # fmt: skip
COS, SIN = torch.rand(6, 2), torch.rand(6, 2)
WIDE = torch.randn(2, 3, 4, 300)


def attended(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, left: int = -1,
    cap: float = 0.0, scale: float | None = None, slopes: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`attention_ref` of tests/test_flash_attn.py, in a few lines of loops."""
    out = q.new_zeros(*q.shape[:-1], v.shape[-1])
    group = q.shape[2] // k.shape[2]
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            for i in range(q.shape[1]):
                place = i + k.shape[1] - q.shape[1]
                scores = k[b, :, h // group] @ q[b, i, h]
                scores = scores * (q.shape[-1] ** -0.5 if scale is None else scale)
                scores = cap * torch.tanh(scores / cap) if cap else scores
                for j in range(k.shape[1]):
                    if slopes is not None:
                        scores[j] -= slopes[h] * abs(place - j)
                    if (causal and j > place) or (0 <= left < place - j):
                        scores[j] = float("-inf")
                if scores.isfinite().any():
                    out[b, i, h] = scores.softmax(0) @ v[b, :, h // group]
    return out


def packed(causal: bool = False) -> Tensor:
    """Two sequences behind each other, each attended by itself."""
    ends = zip(ENDS_Q.tolist(), ENDS_Q.tolist()[1:], strict=False)
    keys = zip(ENDS_K.tolist(), ENDS_K.tolist()[1:], strict=False)
    return torch.cat([
        attended(Q[:1, a:b], K[:1, c:d], V[:1, c:d], causal)
        for (a, b), (c, d) in zip(ends, keys, strict=True)
    ], 1)[0]  # fmt: skip


def varlen(module: Any, causal: bool) -> Tensor:
    return module.flash_attn_varlen_func(
        Q[0], K[0], V[0], ENDS_Q, ENDS_K, 2, 3, causal=causal
    )


def decode(module: Any, **options: Any) -> tuple[Tensor, Tensor]:
    """A step with a cache of five places of which two are used; the cache too."""
    cache_k, cache_v = torch.zeros(2, 5, 2, 8), torch.zeros(2, 5, 2, 8)
    cache_k[:, :2], cache_v[:, :2] = K[:, :2], V[:, :2]
    used = torch.tensor([2, 2], dtype=torch.int32)
    out = module.flash_attn_with_kvcache(
        Q, cache_k, cache_v, K[:, 2:], V[:, 2:], cache_seqlens=used, **options
    )
    assert torch.equal(cache_k, K)
    assert torch.equal(cache_v, V)
    return out


def turned(interleaved: bool) -> Tensor:
    """`apply_rotary_emb_torch` of flash_attn/layers/rotary.py, as complex numbers."""
    x = Q[..., :4]
    pairs = x.unflatten(-1, (2, 2))
    pairs = pairs if interleaved else pairs.transpose(-1, -2)
    turn = torch.complex(COS[:3], SIN[:3])[:, None]
    out = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
    out = out if interleaved else out.transpose(-1, -2)
    return torch.cat((out.flatten(-2), Q[..., 4:]), -1)


X, WEIGHT, BIAS = torch.randn(2, 6, 9), torch.randn(6, 4), torch.randn(6)
CONVOLVED = F.conv1d(X, WEIGHT[:, None], BIAS, padding=3, groups=6)[..., :9]
U, DELTA = torch.randn(2, 6, 5), torch.rand(2, 6, 5)
A, B, C = -torch.rand(6, 3), torch.randn(2, 3, 5), torch.randn(2, 3, 5)


def scanned() -> Tensor:
    """`selective_scan_ref` of mamba_ssm/ops/selective_scan_interface.py, in loops."""
    out = torch.zeros_like(U)
    for b in range(2):
        state = torch.zeros(6, 3)
        for t in range(5):
            step = DELTA[b, :, t, None]
            state = torch.exp(step * A) * state + step * B[b, :, t] * U[b, :, t, None]
            out[b, :, t] = state @ C[b, :, t]
    return out


def updated() -> Tensor:
    """A state of `selective_state_update`, moved on over all steps."""
    state, outs = torch.zeros(2, 6, 3), []
    for t in range(5):
        outs.append(mamba_ssm.selective_state_update(
            state, U[..., t], DELTA[..., t], A, B[..., t], C[..., t]
        ))  # fmt: skip
    return torch.stack(outs, -1)


def convolved_in_steps() -> Tensor:
    state = torch.zeros(2, 6, 4)
    return torch.stack([
        causal_conv1d.causal_conv1d_update(X[..., t], state, WEIGHT, BIAS)
        for t in range(9)
    ], -1)  # fmt: skip


def chunked() -> Any:
    x, dt = torch.ones(2, 5, 4, 3), torch.ones(2, 5, 4)
    B = torch.ones(2, 5, 2, 7)
    return mamba_ssm.mamba_chunk_scan_combined(x, dt, -torch.ones(4), B, B, 4)


def blocked(causal: bool) -> Tensor:
    mask = xformers.BlockDiagonalMask.from_seqlens([1, 2], [3, 2])
    mask = mask.make_causal() if causal else mask
    q, k, v = Q[:1], *(part.repeat_interleave(2, 2)[:1] for part in (K, V))
    return xformers.memory_efficient_attention(q, k, v, attn_bias=mask)[0]


ROWS = {
    "flash_attn.flash_attn_func": Row(
        lambda: flash_attn.flash_attn_func(Q, K, V, causal=True), (2, 3, 4, 8),
        lambda: attended(Q, K, V, True),
        (lambda: flash_attn.flash_attn_func(WIDE, WIDE, WIDE), RuntimeError,
         "head dimension at most 256"),
    ),
    "flash_attn.flash_attn_kvpacked_func": Row(
        lambda: flash_attn.flash_attn_kvpacked_func(Q, KV, window_size=(1, 0)),
        (2, 3, 4, 8), lambda: attended(Q, K, V, True, 1),
        (lambda: flash_attn.flash_attn_kvpacked_func(Q[:, :, :3], KV), RuntimeError,
         "must divide number of heads"),
    ),
    "flash_attn.flash_attn_qkvpacked_func": Row(
        lambda: flash_attn.flash_attn_qkvpacked_func(
            QKV, softmax_scale=0.3, alibi_slopes=torch.arange(4.0)
        ), (2, 5, 4, 8),
        lambda: attended(*QKV.unbind(2), scale=0.3, slopes=torch.arange(4.0)),
    ),
    "flash_attn.flash_attn_varlen_func": Row(
        lambda: varlen(flash_attn, True), (3, 4, 8), lambda: packed(True),
        (lambda: flash_attn.flash_attn_varlen_func(
            Q[0], K[0], V[0], ENDS_Q.long(), ENDS_K, 2, 3
        ), RuntimeError, "int32"),
    ),
    "flash_attn.flash_attn_varlen_kvpacked_func": Row(
        lambda: flash_attn.flash_attn_varlen_kvpacked_func(
            Q[0], KV[0], ENDS_Q, ENDS_K, 2, 3
        ), (3, 4, 8), packed,
    ),
    "flash_attn.flash_attn_varlen_qkvpacked_func": Row(
        lambda: flash_attn.flash_attn_varlen_qkvpacked_func(
            QKV[0], torch.tensor([0, 5], dtype=torch.int32), 5, softcap=2.0
        ), (5, 4, 8), lambda: attended(*QKV[:1].unbind(2), cap=2.0)[0],
    ),
    "flash_attn.flash_attn_with_kvcache": Row(
        lambda: decode(flash_attn, causal=True), (2, 3, 4, 8),
        lambda: attended(Q, K, V, True),
        (lambda: flash_attn.flash_attn_with_kvcache(
            Q, K.transpose(2, 3), V.transpose(2, 3)
        ), AssertionError, "contiguous last dimension"),
    ),
    "flash_attn.apply_rotary_emb": Row(
        lambda: flash_attn.apply_rotary_emb(Q, COS, SIN), (2, 3, 4, 8),
        lambda: turned(False),
        (lambda: flash_attn.apply_rotary_emb(Q, torch.rand(6, 5), torch.rand(6, 5)),
         AssertionError, "rotary_dim"),
    ),
    "flash_attn.FlashSelfAttention": Row(
        lambda: flash_attn.FlashSelfAttention(causal=True)(QKV), (2, 5, 4, 8),
        lambda: attended(*QKV.unbind(2), causal=True),
    ),
    "flash_attn.RMSNorm": Row(
        lambda: flash_attn.RMSNorm(8)(Q), (2, 3, 4, 8),
        lambda: Q / (Q.square().mean(-1, keepdim=True) + 1e-5).sqrt(),
    ),
    "flash_attn_interface.flash_attn_func": Row(
        lambda: flash_attn_interface.flash_attn_func(Q, K, V[..., :6], causal=True),
        (2, 3, 4, 6), lambda: attended(Q, K, V[..., :6], True),
        (lambda: flash_attn_interface.flash_attn_func(WIDE, WIDE, WIDE), RuntimeError,
         "head dimension at most 256"),
    ),
    "flash_attn_interface.flash_attn_varlen_func": Row(
        lambda: varlen(flash_attn_interface, False), (3, 4, 8), packed,
    ),
    "flash_attn_interface.flash_attn_qkvpacked_func": Row(
        lambda: flash_attn_interface.flash_attn_qkvpacked_func(
            QKV.flatten(2, 3), num_heads_q=8
        ), (2, 5, 8, 8), lambda: attended(*QKV.flatten(2, 3).split([8, 2, 2], 2)),
        (lambda: flash_attn_interface.flash_attn_qkvpacked_func(QKV[:, :, 0]),
         AssertionError, ""),
    ),
    "flash_attn_interface.flash_attn_with_kvcache": Row(
        lambda: decode(flash_attn_interface), (2, 3, 4, 8), lambda: attended(Q, K, V),
    ),
    "xformers.memory_efficient_attention": Row(
        lambda: blocked(False), (3, 4, 8), packed,
        (lambda: xformers.memory_efficient_attention(Q, K, V), ValueError,
         "Incompatible shapes"),
    ),
    "xformers.SwiGLU": Row(
        lambda: xformers.SwiGLU(8, 12, 5)(Q), (2, 3, 4, 5), None,
        (lambda: xformers.SwiGLU(7, 12)(Q), RuntimeError, "mat1 and mat2"),
    ),
    "xformers.swiglu": Row(
        lambda: xformers.swiglu(
            torch.ones(2, 3), torch.ones(4, 3), None, torch.ones(4, 3), None,
            torch.ones(5, 4), None,
        ), (2, 5), lambda: F.silu(torch.full((2, 5), 3.0)) * 3 * 4,
    ),
    "transformer_engine.DotProductAttention": Row(
        lambda: transformer_engine.DotProductAttention(4, 8, 2)(
            Q.transpose(0, 1), K[:, :3].transpose(0, 1), V[:, :3].transpose(0, 1)
        ), (3, 2, 32),
        lambda: attended(Q, K[:, :3], V[:, :3], True).transpose(0, 1).flatten(-2),
        (lambda: transformer_engine.DotProductAttention(4, 16)(Q, Q, Q), AssertionError,
         "head_dim"),
    ),
    "causal_conv1d.causal_conv1d_fn": Row(
        lambda: causal_conv1d.causal_conv1d_fn(X, WEIGHT, BIAS, activation="silu"),
        (2, 6, 9), lambda: F.silu(CONVOLVED),
        (lambda: causal_conv1d.causal_conv1d_fn(X, torch.randn(6, 5)), RuntimeError,
         "width between 2 and 4"),
    ),
    "causal_conv1d.causal_conv1d_update": Row(
        convolved_in_steps, (2, 6, 9), lambda: CONVOLVED,
        (lambda: causal_conv1d.causal_conv1d_update(
            X[..., 0], torch.zeros(2, 6, 4), WEIGHT, activation="relu"
        ), NotImplementedError, "silu"),
    ),
    "mamba_ssm.selective_scan_fn": Row(
        lambda: mamba_ssm.selective_scan_fn(U, DELTA, A, B, C), (2, 6, 5), scanned,
        (lambda: mamba_ssm.selective_scan_fn(U, DELTA, A[:5], B, C), RuntimeError,
         "A must have shape"),
    ),
    "mamba_ssm.selective_state_update": Row(updated, (2, 6, 5), scanned),
    "mamba_ssm.mamba_chunk_scan_combined": Row(
        chunked, (2, 5, 4, 3),
        lambda: torch.stack([
            7 * sum(torch.tensor(-float(s)).exp() for s in range(t + 1))
            for t in range(5)
        ])[None, :, None, None].expand(2, 5, 4, 3),
        (lambda: mamba_ssm.mamba_chunk_scan_combined(
            torch.ones(2, 5, 4, 3), torch.ones(2, 5, 3), torch.ones(4),
            torch.ones(2, 5, 2, 7), torch.ones(2, 5, 2, 7), 4,
        ), AssertionError, "dt"),
    ),
    "mamba_ssm.Mamba": Row(
        lambda: mamba_ssm.Mamba(16)(torch.randn(2, 7, 16)), (2, 7, 16), None,
        (lambda: mamba_ssm.Mamba(16, dt_init="zeros"), NotImplementedError, ""),
    ),
    "mamba_ssm.Mamba2": Row(
        lambda: mamba_ssm.Mamba2(32, headdim=16)(torch.randn(2, 7, 32)), (2, 7, 32),
        None, (lambda: mamba_ssm.Mamba2(24), AssertionError, ""),
    ),
    "mamba_ssm.RMSNormGated": Row(
        lambda: mamba_ssm.RMSNormGated(8, group_size=4)(Q, Q), (2, 3, 4, 8),
        lambda: F.rms_norm(Q.unflatten(-1, (2, 4)), [4], None, 1e-5).flatten(-2)
        * F.silu(Q),
    ),
}  # fmt: skip
