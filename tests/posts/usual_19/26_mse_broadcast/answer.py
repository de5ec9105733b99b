import warnings

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.manual_seed(0)
rng = np.random.default_rng(0)

# %%
df = pd.DataFrame({
    "temperature": rng.normal(0, 1, 1000),
    "hour_sin": np.sin(2 * np.pi * rng.integers(0, 24, 1000) / 24),
    "hour_cos": np.cos(2 * np.pi * rng.integers(0, 24, 1000) / 24),
    "holiday": rng.integers(0, 2, 1000),
})
df["consumption"] = -1.5 * df["temperature"] + 2 * df["hour_sin"] - df["holiday"] + rng.normal(0, 0.1, 1000)

X = torch.tensor(df.drop(columns="consumption").values, dtype=torch.float32)
y = torch.tensor(df["consumption"].values, dtype=torch.float32).unsqueeze(1)
train_dl = DataLoader(TensorDataset(X[:800], y[:800]), batch_size=64, shuffle=True)

# %%
model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
history = []
for epoch in range(30):
    epoch_loss = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(xb)
    history.append(epoch_loss / 800)
print("final train loss", history[-1])

# %%
model.eval()
with torch.no_grad():
    pred = model(X[800:])
print("std of targets", y[800:].std().item())
print("std of predictions", pred.std().item())
