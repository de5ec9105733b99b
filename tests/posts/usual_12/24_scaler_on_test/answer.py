import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class StandardScaler:
    """No sklearn on the cluster node, so the few lines we need."""

    def fit(self, x):
        self.mean_ = x.mean(axis=0)
        self.scale_ = x.std(axis=0)
        return self

    def transform(self, x):
        return (x - self.mean_) / self.scale_

    def fit_transform(self, x):
        return self.fit(x).transform(x)

    def inverse_transform(self, z):
        return z * self.scale_ + self.mean_


def heat_demand(path):
    rng = np.random.default_rng(12)
    days = pd.date_range("2021-01-01", "2023-12-31", freq="D")
    temp = 10 - 11 * np.cos(2 * np.pi * (days.day_of_year - 20) / 365) + rng.normal(0, 3, len(days))
    wind = rng.gamma(3, 1.2, len(days))
    sun = np.clip(5 - 4 * np.cos(2 * np.pi * days.day_of_year / 365) + rng.normal(0, 1.5, len(days)), 0, None)
    weekend = (days.day_of_week >= 5).astype(float)
    heat = 12 * np.clip(18 - temp, 0, None) + 3 * wind - 2 * sun - 10 * weekend + rng.normal(0, 6, len(days)) + 40
    pd.DataFrame({"day": days, "temp": temp, "wind": wind, "sun": sun, "weekend": weekend,
                  "heat": heat}).to_csv(path, index=False)


heat_demand("heat.csv")
df = pd.read_csv("heat.csv", parse_dates=["day"])
cols = ["temp", "wind", "sun", "weekend"]

# two and three quarter years for training, the last quarter is the test period
train_df = df[df["day"] < "2023-10-01"]
test_df = df[df["day"] >= "2023-10-01"]
print(len(train_df), "training days,", len(test_df), "test days")

x_scaler, y_scaler = StandardScaler(), StandardScaler()
X_train = x_scaler.fit_transform(train_df[cols].to_numpy())
X_test = x_scaler.transform(test_df[cols].to_numpy())
y_train = y_scaler.fit_transform(train_df[["heat"]].to_numpy())
y_test = test_df["heat"].to_numpy()

X_train = torch.tensor(X_train, dtype=torch.float32)
y_train = torch.tensor(y_train, dtype=torch.float32)
X_test = torch.tensor(X_test, dtype=torch.float32)

torch.manual_seed(12)
model = nn.Sequential(
    nn.Linear(len(cols), 32),
    nn.Tanh(),
    nn.Linear(32, 32),
    nn.Tanh(),
    nn.Linear(32, 1),
)
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
loss_fn = nn.MSELoss()

for epoch in range(20):
    model.train()
    sq = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        sq += loss.item() * len(xb)
    if (epoch + 1) % 5 == 0:
        rmse = (sq / len(X_train)) ** 0.5 * y_scaler.scale_[0]
        print(f"epoch {epoch + 1}: train RMSE {rmse:.1f} MWh")

model.eval()
with torch.no_grad():
    pred = y_scaler.inverse_transform(model(X_test).numpy())[:, 0]
print(f"test RMSE {np.sqrt(np.mean((pred - y_test) ** 2)):.1f} MWh, "
      f"bias {np.mean(pred - y_test):+.1f} MWh")
