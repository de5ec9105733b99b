import math
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

INPUT_LEN = 48
OUTPUT_LEN = 12

hours = np.arange(2000)
demand = (50 + 12 * np.sin(2 * np.pi * hours / 24) + 5 * np.sin(2 * np.pi * hours / 168)
          + np.random.default_rng(0).normal(0, 1.5, len(hours)))
temperature = 15 + 8 * np.sin(2 * np.pi * (hours - 3) / 24)
series = np.stack([demand, temperature], axis=1).astype(np.float32)
split = 1600
mean, std = series[:split].mean(0), series[:split].std(0)
series = (series - mean) / std


class EnergyWindows(Dataset):
    def __init__(self, data):
        self.data = torch.from_numpy(data)

    def __len__(self):
        return len(self.data) - INPUT_LEN - OUTPUT_LEN + 1

    def __getitem__(self, i):
        src = self.data[i:i + INPUT_LEN]
        # decoder sees the last known demand and the targets shifted by one
        tgt_in = self.data[i + INPUT_LEN - 1:i + INPUT_LEN + OUTPUT_LEN - 1, :1]
        tgt_out = self.data[i + INPUT_LEN:i + INPUT_LEN + OUTPUT_LEN, :1]
        return src, tgt_in, tgt_out


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=500):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(pos * div)
        pe[0, :, 1::2] = torch.cos(pos * div)
        self.register_buffer('pe', pe)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class TimeSeriesTransformer(nn.Module):
    def __init__(self, n_features=2, d_model=32, nhead=4, layers=2, dropout=0.1):
        super().__init__()
        self.input_proj = nn.Linear(n_features, d_model)
        self.target_proj = nn.Linear(1, d_model)
        self.pos = PositionalEncoding(d_model)
        self.transformer = nn.Transformer(d_model, nhead, layers, layers, 64, dropout, batch_first=True)
        self.output = nn.Linear(d_model, 1)

    def forward(self, src, tgt):
        src = self.pos(self.input_proj(src))
        tgt = self.pos(self.target_proj(tgt))
        tgt_mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        out = self.transformer(src, tgt, tgt_mask=tgt_mask)
        return self.output(out)

    @torch.no_grad()
    def forecast(self, src):
        tgt = src[:, -1:, :1]
        for _ in range(OUTPUT_LEN):
            step = self(src, tgt)[:, -1:]
            tgt = torch.cat([tgt, step], dim=1)
        return tgt[:, 1:]


torch.manual_seed(0)
train_loader = DataLoader(EnergyWindows(series[:split]), batch_size=64, shuffle=True)
test_loader = DataLoader(EnergyWindows(series[split:]), batch_size=128)
model = TimeSeriesTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(2):
    model.train()
    total, count = 0.0, 0
    for src, tgt_in, tgt_out in train_loader:
        optimizer.zero_grad()
        pred = model(src, tgt_in)
        loss = criterion(pred, tgt_out)
        loss.backward()
        optimizer.step()
        total += loss.item() * src.size(0)
        count += src.size(0)
    print('epoch', epoch, 'train mse', round(total / count, 4))

model.eval()
errors = []
for src, _, tgt_out in test_loader:
    errors.append((model.forecast(src) - tgt_out).abs())
mae = torch.cat(errors).mean().item() * std[0]
print('test MAE in MW:', round(float(mae), 3))
