import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class ProbAttention(nn.Module):
    """full scores for the top queries only, the others get the mean of the values"""

    def __init__(self, factor=3, attention_dropout=0.05):
        super(ProbAttention, self).__init__()
        self.factor = factor
        self.dropout = nn.Dropout(attention_dropout)

    def forward(self, queries, keys, values):
        B, L, H, D = queries.shape
        S = keys.shape[1]
        queries = queries.transpose(2, 1)
        keys = keys.transpose(2, 1)
        values = values.transpose(2, 1)
        sampled = torch.randint(S, (min(S, self.factor * math.ceil(math.log(S + 1))),))
        scores = queries @ keys[:, :, sampled].transpose(-2, -1)
        M = scores.max(-1)[0] - scores.mean(-1)
        u = min(L, self.factor * math.ceil(math.log(L + 1)))
        top = M.topk(u, sorted=False)[1]
        b, h = torch.arange(B)[:, None, None], torch.arange(H)[None, :, None]
        attn = F.softmax(queries[b, h, top] @ keys.transpose(-2, -1) / math.sqrt(D), dim=-1)
        context = values.mean(dim=-2, keepdim=True).expand(B, H, L, values.shape[-1]).clone()
        context[b, h, top] = self.dropout(attn) @ values
        return context


class AttentionLayer(nn.Module):
    def __init__(self, attention, d_model, n_heads):
        super(AttentionLayer, self).__init__()
        self.inner_attention = attention
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.out_projection = nn.Linear(d_model, d_model)
        self.n_heads = n_heads

    def forward(self, queries, keys, values):
        B, L, _ = queries.shape
        S, H = keys.shape[1], self.n_heads
        queries = self.query_projection(queries).view(B, L, H, -1)
        keys = self.key_projection(keys).view(B, S, H, -1)
        values = self.value_projection(values).view(B, S, H, -1)
        out = self.inner_attention(queries, keys, values)
        out = out.view(B, L, -1)
        return self.out_projection(out)


class Forecaster(nn.Module):
    def __init__(self, c_in, seq_len, pred_len, d_model=32, n_heads=4, layers=2):
        super(Forecaster, self).__init__()
        self.value = nn.Conv1d(c_in, d_model, 3, padding=1)
        self.position = nn.Parameter(torch.randn(seq_len, d_model) * 0.02)
        self.attn = nn.ModuleList([AttentionLayer(ProbAttention(), d_model, n_heads) for _ in range(layers)])
        self.norm = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(layers)])
        self.out = nn.Linear(seq_len * d_model, pred_len)

    def forward(self, x):
        h = self.value(x.transpose(1, 2)).transpose(1, 2) + self.position
        for attn, norm in zip(self.attn, self.norm):
            h = norm(h + attn(h, h, h))
        return self.out(h.flatten(1))


def load(hours=1200, seed=3):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    base = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 168)
    others = [np.roll(base, k) + rng.normal(0, 0.3, hours) for k in (3, 6)]
    return torch.tensor(np.stack(others + [base + rng.normal(0, 0.1, hours)], 1), dtype=torch.float32)


if __name__ == '__main__':
    torch.manual_seed(0)
    series, seq_len, pred_len = load(), 48, 12
    model = Forecaster(series.shape[1], seq_len, pred_len)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, 151):
        starts = torch.randint(0, 900 - seq_len - pred_len, (32,)).tolist()
        x = torch.stack([series[s:s + seq_len] for s in starts])
        y = torch.stack([series[s + seq_len:s + seq_len + pred_len, -1] for s in starts])
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print('step %d loss %.4f' % (step, loss.item()))
    model.eval()
    with torch.no_grad():
        starts = range(900, 1200 - seq_len - pred_len, 4)
        x = torch.stack([series[s:s + seq_len] for s in starts])
        y = torch.stack([series[s + seq_len:s + seq_len + pred_len, -1] for s in starts])
        print('test mse %.4f' % F.mse_loss(model(x), y).item())
