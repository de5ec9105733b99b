import math
import time
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class MLAConfig:
    batch_size: int = 2
    dim: int = 128
    num_heads: int = 4
    q_rank: int = 48
    kv_rank: int = 32
    nope_dim: int = 16
    rope_dim: int = 8
    v_dim: int = 16
    max_len: int = 64
    prefill: int = 20


class Rotary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        freq = 10000 ** (-torch.arange(0, dim // 2, dtype=torch.float32) / (dim // 2))
        self.register_buffer("freq", freq)

    def forward(self, x, offset=0):
        steps = torch.arange(offset, offset + x.size(-2), device=x.device)
        angle = steps[:, None] * self.freq[None, :]
        angle = torch.cat([angle, angle], dim=-1)
        a, b = x.chunk(2, dim=-1)
        return x * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()


class LatentCache(nn.Module):
    def __init__(self, batch, length, width):
        super().__init__()
        self.register_buffer("store", torch.zeros(batch, length, width))
        self.used = 0

    def append(self, latent):
        n = latent.size(1)
        assert self.used + n <= self.store.size(1), "cache is full"
        self.store[:, self.used:self.used + n] = latent
        self.used += n
        return self.store[:, :self.used]


class LatentAttention(nn.Module):
    """Multi-head latent attention, one new token per call."""

    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.q_down = nn.Linear(cfg.dim, cfg.q_rank, bias=False)
        self.kv_down = nn.Linear(cfg.dim, cfg.kv_rank + cfg.rope_dim, bias=False)
        self.q_up = nn.Linear(cfg.q_rank, cfg.num_heads * (cfg.nope_dim + cfg.rope_dim), bias=False)
        self.kv_up = nn.Linear(cfg.kv_rank, cfg.num_heads * (cfg.nope_dim + cfg.v_dim), bias=False)
        self.rotary = Rotary(cfg.rope_dim)
        self.wo = nn.Linear(cfg.num_heads * cfg.v_dim, cfg.dim, bias=False)

    def forward(self, x, cache):
        cfg = self.cfg
        bs, seq_len, _ = x.shape
        latent = cache.append(self.kv_down(x))
        kv_len = latent.size(1)

        # queries
        q = self.q_up(self.q_down(x)).view(bs, seq_len, cfg.num_heads, cfg.nope_dim + cfg.rope_dim)
        q_nope, q_rope = q.transpose(1, 2).split([cfg.nope_dim, cfg.rope_dim], dim=-1)
        q_rope = self.rotary(q_rope, offset=kv_len - seq_len)
        q = torch.cat([q_nope, q_rope], dim=-1)

        # keys and values
        c_kv, k_rope = latent.split([cfg.kv_rank, cfg.rope_dim], dim=-1)
        kv = self.kv_up(c_kv).view(bs, kv_len, cfg.num_heads, cfg.nope_dim + cfg.v_dim)
        k_nope, v = kv.split([cfg.nope_dim, cfg.v_dim], dim=-1)
        k_rope = self.rotary(k_rope[:, None, :, :]).expand(-1, cfg.num_heads, -1, -1)
        k_rope = k_rope.reshape(bs, kv_len, cfg.num_heads, cfg.rope_dim)
        k = torch.cat([k_nope, k_rope], dim=-1)

        k = k.transpose(1, 2)
        v = v.transpose(1, 2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(cfg.nope_dim + cfg.rope_dim)
        out = F.softmax(scores, dim=-1) @ v
        return self.wo(out.transpose(1, 2).reshape(bs, seq_len, -1))


def main():
    torch.manual_seed(42)
    cfg = MLAConfig()
    attn = LatentAttention(cfg).eval()
    cache = LatentCache(cfg.batch_size, cfg.max_len, cfg.kv_rank + cfg.rope_dim)

    with torch.no_grad():
        cache.append(attn.kv_down(torch.randn(cfg.batch_size, cfg.prefill, cfg.dim)))
        x = torch.randn(cfg.batch_size, 1, cfg.dim)
        start = time.time()
        for step in range(16):
            y = attn(x, cache)
            x = F.layer_norm(x + y, (cfg.dim,))
            if step % 4 == 0:
                print(f"step {step:2d} kv_len {cache.used:3d} out mean {y.mean():+.5f} std {y.std():.5f}")
    print(f"decode took {time.time() - start:.3f}s")


if __name__ == "__main__":
    main()
