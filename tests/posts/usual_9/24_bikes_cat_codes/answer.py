import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(11)
torch.manual_seed(11)

# hourly bike rentals, columns as in the UCI file hour.csv
hours = pd.date_range("2012-05-01", periods=24 * 60, freq="h")
hr, weekday = np.array(hours.hour), np.array(hours.day_of_week)
temp = 0.5 + 0.2 * np.sin((hr - 9) / 24 * 2 * np.pi) + np.random.normal(0, 0.05, len(hours))
hum = np.random.uniform(0.3, 0.9, len(hours))
rush = np.exp(-((hr - 8) ** 2) / 4) + np.exp(-((hr - 18) ** 2) / 6)
rate = 20 + 250 * rush * (weekday < 5) + 150 * temp - 60 * hum
pd.DataFrame({
    "dteday": hours.date, "hr": hr, "weekday": weekday,
    "temp": temp.round(3), "hum": hum.round(3), "cnt": np.random.poisson(rate.clip(1)),
}).to_csv("hour.csv", index=False)

df = pd.read_csv("hour.csv")
df["hr_sin"] = np.sin(2 * np.pi * df["hr"] / 24)
df["hr_cos"] = np.cos(2 * np.pi * df["hr"] / 24)
df["demand"] = pd.cut(df["cnt"], bins=[-1, 80, 180, np.inf], labels=["low", "medium", "high"])
df["workday"] = (df["weekday"] < 5).astype(int)
rush_hours = pd.get_dummies(df["hr"], prefix="h", dtype=float)
features = pd.concat([df[["temp", "hum", "workday", "hr_sin", "hr_cos"]],
                      rush_hours, rush_hours.mul(df["workday"], axis=0).add_suffix("_w")], axis=1)

split = 24 * 48
X = torch.tensor(features.values, dtype=torch.float32)
y = torch.tensor(df["demand"].cat.codes.values, dtype=torch.long)
train_loader = DataLoader(TensorDataset(X[:split], y[:split]), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(X[split:], y[split:]), batch_size=64)


class BikeNet(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.hidden1 = nn.Linear(n_in, 64)
        self.hidden2 = nn.Linear(64, 32)
        self.out = nn.Linear(32, n_out)
        self.act = nn.ReLU()

    def forward(self, x):
        x = self.act(self.hidden1(x))
        x = self.act(self.hidden2(x))
        return self.out(x)


model = BikeNet(X.shape[1], df["demand"].cat.categories.size)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def train_step(xb, yb):
    optimizer.zero_grad()
    loss = criterion(model(xb), yb)
    loss.backward()
    optimizer.step()
    return loss.item()


for epoch in range(20):
    model.train()
    total = sum(train_step(xb, yb) * len(xb) for xb, yb in train_loader)
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "train loss", round(total / split, 4))

model.eval()
with torch.no_grad():
    pred = torch.cat([model(xb).argmax(dim=1) for xb, _ in test_loader])
print("test accuracy: %.3f" % (pred == y[split:]).float().mean().item())
print(pd.crosstab(df["demand"][split:].to_numpy(), df["demand"].cat.categories.to_numpy()[pred.numpy()],
                  rownames=["true"], colnames=["predicted"]))
