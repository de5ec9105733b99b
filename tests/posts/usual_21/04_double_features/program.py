# House price regression
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(1)
rng = np.random.default_rng(1)

# %% data
n = 1200
df = pd.DataFrame({
    "area": rng.uniform(40, 250, n),
    "rooms": rng.integers(1, 7, n),
    "age": rng.integers(0, 80, n),
    "distance": rng.exponential(5.0, n),
})
df["price"] = 2.1 * df["area"] + 8 * df["rooms"] - 0.4 * df["age"] - 3 * df["distance"] + rng.normal(0, 10, n)

feature_cols = ["area", "rooms", "age", "distance"]
train_part = df.iloc[:1000]
df[feature_cols] = (df[feature_cols] - train_part[feature_cols].mean()) / train_part[feature_cols].std()
df["price"] = (df["price"] - train_part["price"].mean()) / train_part["price"].std()

X = torch.from_numpy(df[feature_cols].to_numpy(copy=True))
y = torch.from_numpy(df["price"].to_numpy(copy=True)).unsqueeze(1)

train_ds = TensorDataset(X[:1000], y[:1000])
val_ds = TensorDataset(X[1000:], y[1000:])
train_loader = DataLoader(train_ds, batch_size=50, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=50)

# %% model
model = nn.Sequential(
    nn.Linear(4, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 1),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %% training
for epoch in range(5):
    model.train()
    for inputs, prices in train_loader:
        pred = model(inputs)
        loss = loss_fn(pred, prices)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    val_loss = 0.0
    with torch.no_grad():
        for inputs, prices in val_loader:
            val_loss += loss_fn(model(inputs), prices).item() * len(inputs)
    print(f"epoch {epoch}: val mse {val_loss / len(val_ds):.4f}")
