import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(11)
index = pd.date_range("2023-01-01", periods=24 * 300, freq="h")
temp = 10 - 9 * np.cos(2 * np.pi * index.day_of_year / 365) + rng.normal(0, 2, len(index))
hour_of_day = index.hour.to_numpy()
load = (
    50
    + 14 * np.sin(2 * np.pi * (hour_of_day - 8) / 24)
    + 6 * np.sin(4 * np.pi * hour_of_day / 24)
    - 0.7 * temp
    + 5 * (index.day_of_week < 5)
    + rng.normal(0, 1.5, len(index))
)
df = pd.DataFrame({"load": load, "temp": temp}, index=index)

df["hour_sin"] = np.sin(2 * np.pi * df.index.hour / 24)
df["hour_cos"] = np.cos(2 * np.pi * df.index.hour / 24)
df["dow_sin"] = np.sin(2 * np.pi * df.index.day_of_week / 7)
df["dow_cos"] = np.cos(2 * np.pi * df.index.day_of_week / 7)

features = ["hour_sin", "hour_cos", "dow_sin", "dow_cos", "temp_norm"]
cut = int(0.8 * len(df))
df["temp_norm"] = (df["temp"] - df["temp"].iloc[:cut].mean()) / df["temp"].iloc[:cut].std()
train, test = df.iloc[:cut], df.iloc[cut:]
y_mean, y_std = train["load"].mean(), train["load"].std()


def to_dataset(part):
    x = torch.tensor(part[features].to_numpy(), dtype=torch.float32)
    y = torch.tensor(((part["load"] - y_mean) / y_std).to_numpy(), dtype=torch.float32)
    return TensorDataset(x, y)


torch.manual_seed(0)
train_loader = DataLoader(to_dataset(train), batch_size=256, shuffle=True)
test_loader = DataLoader(to_dataset(test), batch_size=512)
net = nn.Sequential(nn.Linear(len(features), 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()

for epoch in range(15):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(net(x).squeeze(-1), y)
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        net.eval()
        abs_err = 0.0
        with torch.no_grad():
            for x, y in test_loader:
                abs_err += ((net(x).squeeze(-1) - y).abs() * y_std).sum().item()
        print(f"epoch {epoch + 1}: train mse {loss.item():.4f}, test MAE {abs_err / len(test):.2f} MW")
