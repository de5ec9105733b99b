import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        assert d_model % n_heads == 0
        self.d_k = d_model // n_heads
        self.h = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.h, self.d_k).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(scores, dim=-1))
        out = torch.matmul(attn, v).transpose(1, 2)
        out = out.view(out.size(0), -1, self.h * self.d_k)
        return self.w_o(out)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.norm1(x + self.drop(self.attn(x, x, x, mask)))
        return self.norm2(x + self.drop(self.ff(x)))


class CopyEncoder(nn.Module):
    def __init__(self, vocab, d_model=64, n_heads=4, n_layers=2, max_len=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, d_model, padding_idx=0)
        self.pos = nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList([EncoderLayer(d_model, n_heads, 128) for _ in range(n_layers)])
        self.head = nn.Linear(d_model, vocab)

    def forward(self, ids):
        mask = (ids != 0)[:, None, None, :]
        pos = torch.arange(ids.size(1), device=ids.device)
        x = self.tok(ids) + self.pos(pos)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


def make_batch(bs, length, vocab):
    src = torch.randint(1, vocab, (bs, length))
    src[:, length - 2:] = 0
    tgt = src.clone()
    tgt[:, :length - 2] = src[:, :length - 2].flip(1)
    return src, tgt


def main():
    vocab = 20
    model = CopyEncoder(vocab)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(60):
        src, tgt = make_batch(32, 12, vocab)
        logits = model(src)
        loss = F.cross_entropy(logits.reshape(-1, vocab), tgt.reshape(-1), ignore_index=0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())


if __name__ == '__main__':
    main()
