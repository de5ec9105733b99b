import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
df = pd.DataFrame({
    "area": rng.uniform(30, 200, 2000),
    "rooms": rng.integers(1, 7, 2000),
    "age": rng.uniform(0, 80, 2000),
})
df["price"] = 2.5 * df.area + 20 * df.rooms - 1.2 * df.age + rng.normal(0, 10, 2000)
train, test = df.iloc[:1600], df.iloc[1600:]
mean, std = train.mean(), train.std()
train, test = (train - mean) / std, (test - mean) / std


def to_tensors(frame):
    features = torch.tensor(frame[["area", "rooms", "age"]].values, dtype=torch.float32)
    return features, torch.tensor(frame["price"].values, dtype=torch.float32)


def log_cosh(pred, target):
    diff = pred - target
    return (diff + nn.functional.softplus(-2.0 * diff) - np.log(2.0)).mean()


x_train, y_train = to_tensors(train)
x_test, y_test = to_tensors(test)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(15):
    model.train()
    for xb, yb in loader:
        loss = log_cosh(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()

model.eval()
with torch.no_grad():
    pred = model(x_test)[:, 0]
    rmse = (pred - y_test).pow(2).mean().sqrt().item()
print("test rmse in standard deviations:", round(rmse, 3))
