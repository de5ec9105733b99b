import torch
from torch import nn
from torch.nn import functional as F


class AlibiAttention(nn.Module):
    def __init__(self, n_embd, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        slopes = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)
        self.register_buffer("slopes", slopes.view(n_heads, 1, 1))

    def bias(self, T, device):
        pos = torch.arange(T, device=device)
        bias = torch.zeros(T, T, device=device)
        bias += self.slopes * (pos[None, :] - pos[:, None])
        return bias.masked_fill(pos[None, :] > pos[:, None], float("-inf"))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (
            t.view(B, T, self.n_heads, C // self.n_heads).transpose(1, 2)
            for t in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias(T, x.device))
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Model(nn.Module):
    def __init__(self, vocab=70, n_embd=32, n_heads=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.attn = AlibiAttention(n_embd, n_heads)
        self.ln_f = nn.LayerNorm(n_embd)

    def forward(self, idx):
        x = self.wte(idx)
        x = x + self.attn(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def example_inputs():
    return (torch.randint(0, 70, (2, 17)),)
