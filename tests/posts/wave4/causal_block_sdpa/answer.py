import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def prepare_causal_mask(attention_mask, seq_len, dtype, device):
    min_value = torch.finfo(dtype).min
    causal = torch.full((seq_len, seq_len), min_value, dtype=dtype, device=device).triu(1)
    causal = causal[None, None].expand(attention_mask.shape[0], 1, -1, -1).clone()
    padding = attention_mask[:, None, None, :] == 0
    return causal.masked_fill(padding, min_value)


class TextAttention(nn.Module):
    def __init__(self, hidden=64, heads=8, kv_heads=2):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, hidden // heads
        self.q_proj = nn.Linear(hidden, heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(heads * self.head_dim, hidden, bias=False)

    def forward(self, x, mask):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2)
        k = k.repeat_interleave(self.heads // self.kv_heads, dim=1)
        v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(out.transpose(1, 2).reshape(b, t, -1))


class DecoderLayer(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.input_norm, self.post_norm = RMSNorm(hidden), RMSNorm(hidden)
        self.self_attn = TextAttention(hidden)
        self.gate, self.up = nn.Linear(hidden, 4 * hidden), nn.Linear(hidden, 4 * hidden)
        self.down = nn.Linear(4 * hidden, hidden)

    def forward(self, x, mask):
        x = x + self.self_attn(self.input_norm(x), mask)
        h = self.post_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class TextModel(nn.Module):
    def __init__(self, vocab=1000, hidden=64, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList([DecoderLayer(hidden) for _ in range(layers)])
        self.norm = RMSNorm(hidden)
        self.lm_head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, input_ids, attention_mask):
        x = self.embed_tokens(input_ids)
        mask = prepare_causal_mask(attention_mask, input_ids.shape[1], x.dtype, x.device)
        mask = mask > torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return self.lm_head(self.norm(x))
