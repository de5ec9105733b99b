from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class EncoderConfig:
    n_mels: int = 20
    n_ctx: int = 24
    n_state: int = 32
    n_head: int = 4


class SelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_head = cfg.n_head
        self.qkv = nn.Linear(cfg.n_state, 3 * cfg.n_state)
        self.proj = nn.Linear(cfg.n_state, cfg.n_state)

    def heads(self, x):
        B, T, C = x.shape
        return x.reshape(B, self.n_head, T, C // self.n_head)

    def forward(self, x):
        q, k, v = map(self.heads, self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).flatten(2)
        return self.proj(y)


class Model(nn.Module):
    def __init__(self, cfg=EncoderConfig()):
        super().__init__()
        self.conv = nn.Conv1d(cfg.n_mels, cfg.n_state, 3, stride=2, padding=1)
        self.pos = nn.Parameter(torch.zeros(cfg.n_ctx, cfg.n_state))
        self.ln = nn.LayerNorm(cfg.n_state)
        self.attn = SelfAttention(cfg)

    def forward(self, mel):
        x = F.gelu(self.conv(mel)).permute(0, 2, 1)
        x = x + self.pos[: x.shape[1]]
        return x + self.attn(self.ln(x))


def example_inputs():
    return (torch.randn(2, 20, 36),)
