import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import MinMaxScaler

rng = np.random.default_rng(1)
n = 300
df = pd.DataFrame({
    "wind": rng.gamma(2.0, 3.0, n),
    "temp": rng.normal(11, 6, n),
    "pressure": rng.normal(1013, 8, n),
})
df["power"] = 0.4 * df["wind"] ** 1.5 + rng.normal(0, 0.5, n)

scaler = MinMaxScaler()
scaled = scaler.fit_transform(df.to_numpy()[:240])
x = torch.tensor(scaled[:, :-1], dtype=torch.float32)
y = torch.tensor(scaled[:, -1:], dtype=torch.float32)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(150):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()


def forecast(frame):
    feats = frame[["wind", "temp", "pressure"]].to_numpy()
    z = torch.tensor(scaler.transform(feats), dtype=torch.float32)
    with torch.no_grad():
        out = model(z[:, :3]).numpy()
    return out * scaler.data_range_[-1] + scaler.data_min_[-1]


pred = forecast(df.iloc[240:])
print("MAE", np.abs(pred.ravel() - df["power"].to_numpy()[240:]).mean())
