import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

COLUMNS = ["outdoor", "wind", "sun", "occupancy"]


def building_log(days, seed):
    rng = np.random.default_rng(seed)
    hours = pd.date_range("2023-03-01", periods=24 * days, freq="h")
    season = 10 - 12 * np.cos(2 * np.pi * (hours.day_of_year.to_numpy() - 20) / 365)
    hour = hours.hour.to_numpy()
    log = pd.DataFrame({
        "outdoor": season + 4 * np.sin(2 * np.pi * (hour - 9) / 24) + rng.normal(0, 2, len(hours)),
        "wind": rng.gamma(2, 2, len(hours)),
        "sun": np.clip(np.sin(2 * np.pi * (hour - 6) / 24), 0, None) * rng.uniform(0.3, 1, len(hours)),
        "occupancy": ((hour > 7) & (hour < 18)) * rng.uniform(0.5, 1, len(hours)),
    }, index=hours)
    heating = np.clip(21 - log["outdoor"], 0, None) * (3 + 0.2 * log["wind"])
    log["kwh"] = np.clip(heating - 15 * log["sun"] - 8 * log["occupancy"], 0, None) + rng.normal(0, 2, len(hours))
    return log


log = building_log(days=330, seed=0)
train_log = log.loc[:"2023-11-15"]
test_log = log.loc["2023-11-16":]

scaler = StandardScaler()
x_train = scaler.fit_transform(train_log[COLUMNS])
x_test = scaler.transform(test_log[COLUMNS])

y_mean, y_std = train_log["kwh"].mean(), train_log["kwh"].std()
y_train = ((train_log["kwh"] - y_mean) / y_std).to_numpy()
y_test = test_log["kwh"].to_numpy()

x_train, y_train, x_test = (torch.tensor(a, dtype=torch.float32) for a in (x_train, y_train, x_test))
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=128, shuffle=True)

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(len(COLUMNS), 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()


def predict(x):
    net.eval()
    with torch.no_grad():
        return net(x).squeeze(1).numpy() * y_std + y_mean


for epoch in range(10):
    net.train()
    for x, y in loader:
        loss = loss_fn(net(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    fit_error = np.abs(predict(x_train) - train_log["kwh"].to_numpy()).mean()
    test_error = np.abs(predict(x_test) - y_test).mean()
    print(f"epoch {epoch + 1:2d}  MAE train {fit_error:.2f} kWh  test {test_error:.2f} kWh")

print(f"mean of the winter weeks: predicted {predict(x_test).mean():.1f} kWh, measured {y_test.mean():.1f} kWh")
