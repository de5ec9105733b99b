import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class MinMaxScaler:
    """numpy version of the sklearn class, we cannot install sklearn on the station PC"""

    def fit(self, X):
        self.data_min_ = X.min(axis=0)
        self.data_range_ = X.max(axis=0) - self.data_min_
        return self

    def transform(self, X):
        X = np.array(X, dtype=np.float64)
        X -= self.data_min_
        X /= self.data_range_
        return X

    def inverse_transform(self, X):
        X = np.array(X, dtype=np.float64)
        X *= self.data_range_
        X += self.data_min_
        return X


def load_station(n=1200):
    rng = np.random.default_rng(11)
    t = np.arange(n)
    temp = 15 + 8 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 1, n)
    humidity = 60 - 1.2 * (temp - 15) + rng.normal(0, 3, n)
    wind = np.abs(rng.normal(3, 1.5, n))
    no2 = 30 + 10 * np.sin(2 * np.pi * (t - 6) / 24) - 2 * wind + rng.normal(0, 2, n)
    pm25 = 0.6 * no2 + 0.1 * humidity + rng.normal(0, 1.5, n)
    index = pd.date_range("2023-01-01", periods=n, freq="h")
    return pd.DataFrame(dict(pm25=pm25, no2=no2, temp=temp, humidity=humidity, wind=wind), index=index)


class WindowDataset(Dataset):
    def __init__(self, values, window=24):
        self.values = torch.tensor(values, dtype=torch.float32)
        self.window = window

    def __len__(self):
        return len(self.values) - self.window

    def __getitem__(self, i):
        x = self.values[i:i + self.window]
        y = self.values[i + self.window, 0]      # pm25 of the next hour
        return x, y


class Forecaster(nn.Module):
    def __init__(self, n_features, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.linear(h[-1]).squeeze(1)


torch.manual_seed(11)
df = load_station()
split = int(len(df) * 0.8)
train_values, test_values = df.values[:split], df.values[split:]

scaler = MinMaxScaler().fit(train_values)
train_ds = WindowDataset(scaler.transform(train_values))
test_ds = WindowDataset(scaler.transform(test_values))
train_loader = DataLoader(train_ds, batch_size=32, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=32, shuffle=False)

model = Forecaster(n_features=df.shape[1])
loss_fn = nn.L1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(4):
    model.train()
    losses = []
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"Epoch {epoch + 1}, loss {np.mean(losses):.4f}")

model.eval()
preds, trues = [], []
with torch.no_grad():
    for x, y in test_loader:
        preds.append(model(x).numpy())
        trues.append(y.numpy())
preds = np.concatenate(preds).reshape(-1, 1)
trues = np.concatenate(trues).reshape(-1, 1)

preds_ug = scaler.inverse_transform(preds)
trues_ug = scaler.inverse_transform(trues)
print(f"MAE {np.abs(preds_ug - trues_ug).mean():.2f} ug/m3")
print(pd.DataFrame({"true": trues_ug[:5, 0], "pred": preds_ug[:5, 0]}, index=df.index[split + 24:split + 29]).round(1))
