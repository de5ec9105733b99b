import math

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(6)
np.random.seed(6)

COLUMNS = ["temperature", "pressure", "humidity", "wind"]
WINDOW = 28
D_MODEL = 32
N_HEADS = 4


def make_weather(days=700):
    t = np.arange(days)
    df = pd.DataFrame(index=pd.date_range("2020-01-01", periods=days))
    df["temperature"] = 10 + 9 * np.sin(2 * np.pi * t / 60) + np.random.randn(days)
    df["pressure"] = 1013 + 6 * np.cos(2 * np.pi * t / 60) + np.random.randn(days)
    df["humidity"] = 70 - 1.2 * (df["temperature"] - 10) + 3 * np.random.randn(days)
    df["wind"] = 4 + np.random.gamma(2, 1, days)
    return df


class WeatherDataset(Dataset):
    def __init__(self, values):
        self.values = torch.tensor(values, dtype=torch.float32)

    def __len__(self):
        return len(self.values) - WINDOW

    def __getitem__(self, i):
        return self.values[i:i + WINDOW], self.values[i + WINDOW, 0]


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class WeatherTransformer(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.embed = nn.Linear(n_features, D_MODEL)
        self.pos = PositionalEncoding(D_MODEL)
        layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(D_MODEL, 1)

    def forward(self, x):
        h = self.encoder(self.pos(self.embed(x)))
        return self.head(h[:, -1]).squeeze(-1)


df = make_weather()
split = int(0.8 * len(df))
mean, std = df[:split].mean(), df[:split].std()
scaled = ((df - mean) / std)[COLUMNS].values

train_loader = DataLoader(WeatherDataset(scaled[:split]), batch_size=32, shuffle=True)
test_loader = DataLoader(WeatherDataset(scaled[split:]), batch_size=32)

model = WeatherTransformer(len(COLUMNS))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(4):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    print(f"epoch {epoch + 1}: {total / len(train_loader.dataset):.4f}")

model.eval()
abs_error = 0.0
with torch.no_grad():
    for x, y in test_loader:
        abs_error += (model(x) - y).abs().sum().item()
mae = abs_error / len(test_loader.dataset) * std["temperature"]
print(f"test MAE: {mae:.2f} degrees")
