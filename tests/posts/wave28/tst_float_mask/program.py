# %% Time series transformer, one step ahead forecast at every step
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)
SEQ_LEN, N_VARS = 40, 3


# %% data: three noisy coupled oscillations
def make_series(n):
    t = np.arange(SEQ_LEN + 1)
    out = np.zeros((n, SEQ_LEN + 1, N_VARS), dtype=np.float32)
    for i in range(n):
        f = np.random.uniform(0.05, 0.15, N_VARS)
        p = np.random.uniform(0, 2 * np.pi, N_VARS)
        clean = np.sin(2 * np.pi * t[:, None] * f + p)
        walk = np.cumsum(0.3 * np.random.randn(SEQ_LEN + 1, N_VARS), axis=0)
        out[i] = clean + walk
    out = torch.from_numpy(out)
    return out[:, :-1], out[:, 1:]


# %% model
class ScaledDotProduct(nn.Module):
    def __init__(self, d_k, dropout=0.0):
        super().__init__()
        self.scale = d_k ** -0.5
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, attn_mask=None):
        scores = torch.matmul(q, k) * self.scale
        if attn_mask is not None:
            if attn_mask.dtype == torch.bool:
                scores.masked_fill_(attn_mask, -np.inf)
            else:
                scores = scores + attn_mask
        weights = self.dropout(F.softmax(scores, dim=-1))
        return torch.matmul(weights, v), weights


class SelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.sdp = ScaledDotProduct(self.d_k)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, attn_mask=None):
        bs = x.size(0)
        q = self.W_Q(x).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        k = self.W_K(x).view(bs, -1, self.n_heads, self.d_k).permute(0, 2, 3, 1)
        v = self.W_V(x).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        y, weights = self.sdp(q, k, v, attn_mask)
        return self.out(y.transpose(1, 2).reshape(bs, -1, self.n_heads * self.d_k)), weights


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = SelfAttention(d_model, n_heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(self, x, attn_mask=None):
        y, weights = self.attn(self.norm1(x), attn_mask)
        x = x + y
        return x + self.ff(self.norm2(x)), weights


class TST(nn.Module):
    def __init__(self, c_in, seq_len, d_model=32, n_heads=4, d_ff=64, n_layers=2):
        super().__init__()
        self.W_P = nn.Linear(c_in, d_model)
        self.W_pos = nn.Parameter(0.02 * torch.randn(seq_len, d_model))
        self.blocks = nn.ModuleList([Block(d_model, n_heads, d_ff) for _ in range(n_layers)])
        self.head = nn.Linear(d_model, c_in)
        self.register_buffer("attn_mask", torch.tril(torch.ones(seq_len, seq_len)))

    def forward(self, x):
        n = x.size(1)
        h = self.W_P(x) + self.W_pos[:n]
        for block in self.blocks:
            h, self.last_weights = block(h, self.attn_mask[:n, :n])
        return x + self.head(h)


# %% train
x_train, y_train = make_series(256)
x_valid, y_valid = make_series(64)
model = TST(N_VARS, SEQ_LEN)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(25):
    model.train()
    losses = []
    for idx in torch.randperm(len(x_train)).split(32):
        loss = F.mse_loss(model(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        valid = F.mse_loss(model(x_valid), y_valid).item()
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d}  train {np.mean(losses):.4f}  valid {valid:.4f}")

# %% forecast from the first 30 steps only
with torch.no_grad():
    rmse = math.sqrt(F.mse_loss(model(x_valid[:, :30])[:, -1], y_valid[:, 29]).item())
    naive = math.sqrt(F.mse_loss(x_valid[:, 29], y_valid[:, 29]).item())
print(f"valid rmse, all steps {math.sqrt(valid):.3f}; next step after 30 {rmse:.3f} (last value repeated {naive:.3f})")
