"""Homework: predict used car prices; robust regression with my own Huber loss."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(42)
n = 1500
df = pd.DataFrame({
    "age": rng.integers(0, 20, n),
    "km": rng.gamma(4.0, 25_000, n),
    "power": rng.normal(110, 30, n).clip(45, 300),
    "doors": rng.choice([3, 5], n),
})
df["price"] = 24 * np.exp(-0.11 * df.age) * (df.power / 110) - 0.00002 * df.km + rng.normal(0, 0.8, n)
outliers = rng.choice(n, 40, replace=False)
df.loc[outliers, "price"] += rng.normal(0, 40, 40)

features = ["age", "km", "power", "doors"]
split = int(n * 0.8)
train, test = df.iloc[:split], df.iloc[split:]
scaler = StandardScaler().fit(train[features])


def tensors(part):
    x = torch.tensor(scaler.transform(part[features]), dtype=torch.float32)
    y = torch.tensor(part["price"].to_numpy(), dtype=torch.float32).unsqueeze(1)
    return x, y


X_train, y_train = tensors(train)
X_test, y_test = tensors(test)
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=50, shuffle=True)


class HuberLoss(nn.Module):
    def __init__(self, delta=1.0):
        super().__init__()
        self.delta = delta

    def forward(self, pred, target):
        err = torch.abs(pred - target)
        if err <= self.delta:
            loss = 0.5 * err ** 2
        else:
            loss = self.delta * (err - 0.5 * self.delta)
        return loss.mean()


class PriceNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.hidden = nn.Linear(n_features, 32)
        self.hidden2 = nn.Linear(32, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        x = torch.relu(self.hidden2(x))
        return self.out(x)


torch.manual_seed(0)
model = PriceNet(len(features))
criterion = HuberLoss(delta=1.5)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(1, 21):
    model.train()
    epoch_loss = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * xb.size(0)
    if epoch % 5 == 0:
        model.eval()
        with torch.no_grad():
            mae = (model(X_test) - y_test).abs().median()
        print(f"epoch {epoch:2d}  train {epoch_loss / split:.3f}  median abs error {mae:.3f}")
