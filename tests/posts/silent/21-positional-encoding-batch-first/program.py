import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


class TimeSeriesTransformer(nn.Module):
    def __init__(self, n_features=3, d_model=32, nhead=4, num_layers=2, horizon=4):
        super().__init__()
        self.proj = nn.Linear(n_features, d_model)
        self.pos_enc = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward=64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers)
        self.decoder = nn.Linear(d_model, horizon)

    def forward(self, src):
        src = self.pos_enc(self.proj(src))
        memory = self.encoder(src)
        return self.decoder(memory[:, -1])


def windows(series, n_in, n_out):
    xs, ys = [], []
    for i in range(len(series) - n_in - n_out):
        xs.append(series[i:i + n_in])
        ys.append(series[i + n_in:i + n_in + n_out, 0])
    return torch.stack(xs), torch.stack(ys)


torch.manual_seed(0)
t = torch.arange(500).float()
series = torch.stack([torch.sin(0.1 * t), torch.cos(0.05 * t), 0.1 * torch.randn(500)], dim=1)
x, y = windows(series, n_in=24, n_out=4)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = TimeSeriesTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(3):
    model.train()
    total_loss = 0
    for src, tgt in loader:
        optimizer.zero_grad()
        loss = criterion(model(src), tgt)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    print(f"| epoch {epoch} | loss {total_loss / len(loader):.4f}")
