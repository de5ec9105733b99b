# line 19: the lag column of the pandas series is NaN in its first rows and goes to the layers as it is
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def sales(days=300):
    rng = np.random.default_rng(2)
    when = pd.date_range("2020-01-01", periods=days)
    value = 50 + 10 * np.sin(np.arange(days) * 2 * np.pi / 7) + rng.normal(size=days)
    return pd.DataFrame({"sold": value}, index=when)


def featurize(df):
    df = df.copy()
    df["weekday"] = df.index.dayofweek
    df["lag1"] = df["sold"].shift(1)
    df["month"] = df.index.month
    x = df[["weekday", "lag1", "month"]]
    x = (x - x.mean()) / x.std()
    y = (df["sold"] - df["sold"].mean()) / df["sold"].std()
    return torch.tensor(x.values, dtype=torch.float), torch.tensor(y.values, dtype=torch.float)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


torch.manual_seed(0)
X, y = featurize(sales())
loader = DataLoader(TensorDataset(X, y), batch_size=30, shuffle=True)
model = Regressor()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    total = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.l1_loss(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    print(epoch, total / len(y))
