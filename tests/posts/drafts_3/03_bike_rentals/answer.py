# Bike rentals per hour - simple NN baseline
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

SEED = 7
np.random.seed(SEED)
torch.manual_seed(SEED)

n = 1200
df = pd.DataFrame({
    "hour": np.random.randint(0, 24, n),
    "temp": np.random.normal(15, 8, n),
    "humidity": np.random.uniform(20, 100, n),
    "workingday": np.random.randint(0, 2, n),
    "weather": np.random.choice(["clear", "mist", "rain"], n),
})
df["count"] = (
    60 + 5 * df["temp"] - 0.5 * df["humidity"]
    + 40 * np.sin(df["hour"] / 24 * np.pi)
    - 30 * (df["weather"] == "rain")
    + np.random.normal(0, 5, n)
)

features = pd.get_dummies(df.drop(columns="count"), columns=["weather"], dtype=float)
target = df["count"]

X_tr, X_va, y_tr, y_va = train_test_split(features, target, test_size=0.2, random_state=SEED)

num_cols = ["hour", "temp", "humidity"]
scaler = StandardScaler()
X_tr, X_va = X_tr.copy(), X_va.copy()
X_tr[num_cols] = scaler.fit_transform(X_tr[num_cols].astype(float))
X_va[num_cols] = scaler.transform(X_va[num_cols].astype(float))
y_mean, y_std = y_tr.mean(), y_tr.std()


def to_tensors(X, y):
    X = torch.tensor(X.values, dtype=torch.float32)
    y = torch.tensor(((y - y_mean) / y_std).values, dtype=torch.float32)
    return TensorDataset(X, y.unsqueeze(1))


train_dl = DataLoader(to_tensors(X_tr, y_tr), batch_size=64, shuffle=True)
valid_dl = DataLoader(to_tensors(X_va, y_va), batch_size=256)

model = nn.Sequential(
    nn.Linear(features.shape[1], 64),
    nn.ReLU(),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(15):
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()

    model.eval()
    se, count = 0.0, 0
    with torch.no_grad():
        for xb, yb in valid_dl:
            se += criterion(model(xb), yb).item() * len(xb)
            count += len(xb)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  valid RMSE {y_std * (se / count) ** 0.5:.2f} rentals")
