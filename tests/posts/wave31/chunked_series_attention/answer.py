import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ChunkedSelfAttention(nn.Module):
    """Multi head attention computed inside chunks of the time axis.

    Expects (batch_size, K, d_model)."""

    def __init__(self, d_model, q, v, h, chunk_size=168):
        super().__init__()
        self._h = h
        self._chunk_size = chunk_size
        self._W_q = nn.Linear(d_model, q * h)
        self._W_k = nn.Linear(d_model, q * h)
        self._W_v = nn.Linear(d_model, v * h)
        self._W_o = nn.Linear(v * h, d_model)
        self._future_mask = nn.Parameter(
            torch.triu(torch.ones(chunk_size, chunk_size), diagonal=1).bool(), requires_grad=False)

    def forward(self, x):
        K = x.shape[1]
        n_chunk = K // self._chunk_size

        queries = torch.cat(torch.cat(self._W_q(x).chunk(self._h, dim=-1), dim=0).chunk(n_chunk, dim=1), dim=0)
        keys = torch.cat(torch.cat(self._W_k(x).chunk(self._h, dim=-1), dim=0).chunk(n_chunk, dim=1), dim=0)
        values = torch.cat(torch.cat(self._W_v(x).chunk(self._h, dim=-1), dim=0).chunk(n_chunk, dim=1), dim=0)

        scores = torch.bmm(queries, keys.transpose(1, 2)) / np.sqrt(queries.shape[-1])
        scores = scores.masked_fill(self._future_mask, float('-inf'))
        attention = torch.bmm(F.softmax(scores, dim=-1), values)

        heads = torch.cat(torch.cat(attention.chunk(n_chunk, dim=0), dim=1).chunk(self._h, dim=0), dim=-1)
        return self._W_o(heads)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, q, v, h, dropout=0.2):
        super().__init__()
        self.attention = ChunkedSelfAttention(d_model, q, v, h, chunk_size=200)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.norm1(x + self.dropout(self.attention(x)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class SeriesTransformer(nn.Module):
    def __init__(self, d_input, d_model, d_output, q=8, v=8, h=4, N=2):
        super().__init__()
        self.embedding = nn.Linear(d_input, d_model)
        self.encoding = nn.ModuleList([EncoderBlock(d_model, q, v, h) for _ in range(N)])
        self.output = nn.Linear(d_model, d_output)

    def forward(self, x):
        x = self.embedding(x)
        for block in self.encoding:
            x = block(x)
        return self.output(x)


def vibration_records(n=24, length=1000):
    t = np.linspace(0, 20, length)
    speed = np.random.uniform(0.5, 2.0, size=(n, 1))
    load = np.random.uniform(0.2, 1.0, size=(n, 1))
    a = np.sin(speed * t) * load
    b = np.cos(speed * t) + 0.05 * np.random.randn(n, length)
    x = np.stack([a, b], axis=-1)
    y = np.cumsum(a, axis=1)[..., None] / 50
    return torch.from_numpy(x).float(), torch.from_numpy(y).float()


np.random.seed(0)
torch.manual_seed(0)
signals, targets = vibration_records()
loader = DataLoader(TensorDataset(signals, targets), batch_size=8, shuffle=True)

net = SeriesTransformer(d_input=2, d_model=32, d_output=1)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
loss_function = nn.MSELoss()

for epoch in range(2):
    running = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_function(net(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print('epoch', epoch + 1, 'loss', round(running / len(loader), 4))
