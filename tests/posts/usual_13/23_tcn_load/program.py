import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

np.random.seed(7)
torch.manual_seed(7)


def household_load(days=60):
    idx = pd.date_range("2023-01-01", periods=24 * days, freq="h")
    hour = idx.hour.to_numpy()
    kw = 0.4 + 0.5 * np.exp(-(hour - 8) ** 2 / 6) + 0.9 * np.exp(-(hour - 19) ** 2 / 8)
    kw = kw * (1 + 0.25 * (idx.day_of_week.to_numpy() >= 5)) + np.random.gamma(1.0, 0.05, len(idx))
    return pd.DataFrame({"kw": kw, "sin": np.sin(2 * np.pi * hour / 24), "cos": np.cos(2 * np.pi * hour / 24)}, index=idx)


class LoadWindows(Dataset):
    def __init__(self, values, length=96):
        self.values = torch.tensor(values, dtype=torch.float32)
        self.length = length

    def __len__(self):
        return len(self.values) - self.length

    def __getitem__(self, i):
        x = self.values[i:i + self.length].T            # [features, time]
        y = self.values[i + 1:i + self.length + 1, 0]   # next hour, at each step
        return x, y


class TemporalBlock(nn.Module):
    def __init__(self, c_in, c_out, k, dilation, dropout=0.1):
        super().__init__()
        pad = (k - 1) * dilation
        self.pad = pad
        self.conv1 = nn.Conv1d(c_in, c_out, k, padding=pad, dilation=dilation)
        self.conv2 = nn.Conv1d(c_out, c_out, k, padding=pad, dilation=dilation)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(dropout)
        self.skip = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x):
        y = self.drop(self.relu(self.conv1(x)))
        y = self.drop(self.relu(self.conv2(y)))
        return self.relu(y + self.skip(x))


class TCN(nn.Module):
    def __init__(self, n_features, channels=(24, 24, 24, 24), k=3):
        super().__init__()
        blocks, c = [], n_features
        for level, width in enumerate(channels):
            blocks.append(TemporalBlock(c, width, k, dilation=2 ** level))
            c = width
        self.blocks = nn.Sequential(*blocks)
        self.out = nn.Conv1d(c, 1, 1)

    def forward(self, x):
        return self.out(self.blocks(x)).squeeze(1)


df = household_load()
n_train = 24 * 45
mean, std = df["kw"][:n_train].mean(), df["kw"][:n_train].std()
df["kw"] = (df["kw"] - mean) / std
values = df.to_numpy()
train_dl = DataLoader(LoadWindows(values[:n_train]), batch_size=64, shuffle=True)
test_dl = DataLoader(LoadWindows(values[n_train:]), batch_size=64)

model = TCN(values.shape[1])
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
crit = nn.L1Loss()

for epoch in range(4):
    model.train()
    for x, y in train_dl:
        opt.zero_grad()
        loss = crit(model(x), y)
        loss.backward()
        opt.step()
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for x, y in test_dl:
            pred = model(x)[:, -1]
            err += (pred - y[:, -1]).abs().sum().item() * std
            n += len(y)
    print(f"epoch {epoch + 1}  test MAE {err / n:.3f} kW")
