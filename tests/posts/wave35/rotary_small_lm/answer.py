import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class RotaryEmbedding(nn.Module):
    """Expects tensors laid out (batch, heads, seq, head_dim)."""

    def __init__(self, dim):
        super().__init__()
        inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
        self.register_buffer("inv_freq", inv_freq)
        self._seq_len_cached = None

    def _update_cos_sin(self, x, seq_dim):
        seq_len = x.shape[seq_dim]
        if seq_len != self._seq_len_cached:
            self._seq_len_cached = seq_len
            t = torch.arange(seq_len, dtype=torch.float32, device=x.device)
            freqs = torch.outer(t, self.inv_freq)
            emb = torch.cat((freqs, freqs), dim=-1)
            self._cos = emb.cos()[None, None, :, :]
            self._sin = emb.sin()[None, None, :, :]

    def forward(self, q, k):
        self._update_cos_sin(k, seq_dim=-2)
        q = q * self._cos + rotate_half(q) * self._sin
        k = k * self._cos + rotate_half(k) * self._sin
        return q, k


class RotaryWithCast(RotaryEmbedding):
    def forward(self, q, k, v):
        q, k = super().forward(q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3))
        q, k = q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3)
        return q.to(v.dtype), k.to(v.dtype), v


class CausalAttention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = dim // n_heads
        self.in_proj = nn.Linear(dim, 3 * dim, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.pos_embed = RotaryWithCast(self.head_dim)

    def forward(self, x):
        batch, seq, dim = x.shape
        q, k, v = self.in_proj(x).chunk(3, dim=-1)
        q = q.view(batch, seq, self.n_heads, self.head_dim)
        k = k.view(batch, seq, self.n_heads, self.head_dim)
        v = v.view(batch, seq, self.n_heads, self.head_dim)
        q, k, v = self.pos_embed(q, k, v)
        out = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.out_proj(out.transpose(1, 2).reshape(batch, seq, dim))


class Block(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim)
        self.attention = CausalAttention(dim, n_heads)
        self.ffn_norm = nn.LayerNorm(dim)
        self.feed_forward = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class SmallLM(nn.Module):
    def __init__(self, vocab, dim, n_layers, n_heads):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Block(dim, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.tok(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def repeated_text(n, seq, vocab, lag):
    """Each token repeats the one seen `lag` places before."""
    start = torch.randint(0, vocab, (n, lag))
    reps = math.ceil((seq + 1) / lag)
    return start.repeat(1, reps)[:, :seq + 1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seq-len", type=int, default=24)
    parser.add_argument("--vocab", type=int, default=16)
    parser.add_argument("--lag", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = SmallLM(args.vocab, dim=64, n_layers=2, n_heads=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    for step in range(1, args.steps + 1):
        text = repeated_text(32, args.seq_len, args.vocab, args.lag)
        logits = model(text[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, args.vocab), text[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f} ppl {math.exp(loss.item()):.2f}")


if __name__ == "__main__":
    main()
