import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, StandardScaler
from torch import nn

rng = np.random.default_rng(5)
n = 2400
quality = rng.choice(["poor", "fair", "good", "excellent"], n, p=[0.15, 0.35, 0.35, 0.15])
grade = pd.Series(quality).map({"poor": 0, "fair": 1, "good": 2, "excellent": 3}).to_numpy()
df = pd.DataFrame({
    "rooms": rng.integers(1, 7, n),
    "area": rng.normal(80, 25, n).clip(20, None),
    "age": rng.integers(0, 90, n),
    "distance": rng.exponential(4, n),
})
signal = 0.02 * df["area"] - 0.015 * df["age"] - 0.12 * df["distance"] + 0.25 * df["rooms"]
df["view"] = grade * 0.5 + signal * 0.4 + rng.normal(0, 0.3, n)
df["light"] = grade * 0.4 + rng.normal(0, 0.4, n)
df["condition"] = quality

FEATURES = ["rooms", "area", "age", "distance", "view", "light"]
encoder = LabelEncoder()
df["target"] = encoder.fit_transform(df["condition"])

train_df, test_df = train_test_split(df, test_size=0.25, random_state=0)
scaler = StandardScaler().fit(train_df[FEATURES])
X_train = torch.tensor(scaler.transform(train_df[FEATURES]), dtype=torch.float32)
X_test = torch.tensor(scaler.transform(test_df[FEATURES]), dtype=torch.float32)
y_train = torch.tensor(train_df["target"].to_numpy(), dtype=torch.float32).unsqueeze(1)
y_test = torch.tensor(test_df["target"].to_numpy(), dtype=torch.float32).unsqueeze(1)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(len(FEATURES), 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(30):
    model.train()
    order = torch.randperm(len(X_train))
    for idx in order.split(64):
        loss = loss_fn(model(X_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if (epoch + 1) % 10 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(X_test)
        mae = (pred - y_test).abs().mean().item()
        within_one = ((pred.round() - y_test).abs() <= 1).float().mean().item()
        exact = (pred.round() == y_test).float().mean().item()
        print(f"epoch {epoch + 1}: test MAE {mae:.3f} grades, exact {exact:.3f}, within one grade {within_one:.3f}")
