# %%
import io

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(8)

# %%
# the colleagues' export: measurements that failed are left blank
rng = np.random.default_rng(8)
species = rng.integers(0, 3, 330)
table = pd.DataFrame({
    "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[species],
    "bill_length_mm": np.array([38.8, 48.8, 47.5])[species] + rng.normal(0, 2.5, 330),
    "bill_depth_mm": np.array([18.3, 18.4, 15.0])[species] + rng.normal(0, 1.0, 330),
    "flipper_length_mm": np.array([190, 196, 217])[species] + rng.normal(0, 6, 330),
    "body_mass_g": np.array([3700, 3730, 5080])[species] + rng.normal(0, 400, 330),
}).round(1)
for column in table.columns[1:]:
    table.loc[rng.choice(330, 6, replace=False), column] = np.nan
csv_text = table.to_csv(index=False)

# %%
df = pd.read_csv(io.StringIO(csv_text))
print(df.head())
print(df.describe().loc[["mean", "std"]].round(1))

# %%
df["label"] = df["species"].astype("category").cat.codes
df = df.sample(frac=1.0, random_state=8).reset_index(drop=True)
feature_cols = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]

n_train = int(0.8 * len(df))
mean = df.loc[:n_train - 1, feature_cols].mean()
std = df.loc[:n_train - 1, feature_cols].std()
df[feature_cols] = (df[feature_cols] - mean) / std

X = torch.tensor(df[feature_cols].to_numpy(), dtype=torch.float32)
y = torch.tensor(df["label"].to_numpy(), dtype=torch.long)
train_dl = DataLoader(TensorDataset(X[:n_train], y[:n_train]), batch_size=16, shuffle=True)
test_dl = DataLoader(TensorDataset(X[n_train:], y[n_train:]), batch_size=16)

# %%
model = nn.Sequential(
    nn.Linear(4, 32),
    nn.ReLU(),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

# %%
for epoch in range(10):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(yb)
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {total / n_train:.4f}")

# %%
model.eval()
correct = 0
with torch.no_grad():
    for xb, yb in test_dl:
        correct += (model(xb).argmax(1) == yb).sum().item()
print(f"accuracy on the {len(df) - n_train} held-out birds: {correct / (len(df) - n_train):.3f}")
