import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# %% [1] data - same layout as the competition files
torch.manual_seed(2024)
rng = np.random.default_rng(2024)
SPECIES = ["Adelie", "Chinstrap", "Gentoo"]
CENTERS = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3730], [47.5, 15.0, 217, 5080]])
SPREAD = np.array([2.6, 1.1, 6.5, 450])
COLS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def make_frame(n, first_id):
    k = rng.choice(3, size=n, p=[0.44, 0.2, 0.36])
    df = pd.DataFrame(CENTERS[k] + SPREAD * rng.standard_normal((n, 4)), columns=COLS)
    df.insert(0, "id", np.arange(first_id, first_id + n))
    df["species"] = [SPECIES[i] for i in k]
    return df


train_df = make_frame(600, 1)
test_df = make_frame(200, 601)
solution = test_df[["id", "species"]]
test_df = test_df.drop(columns="species")

# %% [2] features
mean, std = train_df[COLS].mean(), train_df[COLS].std()
X = torch.tensor(((train_df[COLS] - mean) / std).to_numpy(), dtype=torch.float32)
X_test = torch.tensor(((test_df[COLS] - mean) / std).to_numpy(), dtype=torch.float32)
y = torch.tensor(train_df["species"].map(SPECIES.index).to_numpy())

n_val = 120
BS = 32
train_dl = DataLoader(TensorDataset(X[n_val:], y[n_val:]), batch_size=BS, shuffle=True)
val_dl = DataLoader(TensorDataset(X[:n_val], y[:n_val]), batch_size=BS, shuffle=False)
test_dl = DataLoader(TensorDataset(X_test), batch_size=BS, shuffle=True)

# %% [3] model
model = nn.Sequential(
    nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.1),
    nn.Linear(32, 16), nn.ReLU(),
    nn.Linear(16, 3),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

# %% [4] training
for epoch in range(10):
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_hits = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val_dl)
    if epoch % 3 == 0:
        print(f"epoch {epoch}: val accuracy {val_hits / n_val:.3f}")

# %% [5] submission
model.eval()
preds = []
with torch.no_grad():
    for (xb,) in test_dl:
        preds.extend(model(xb).argmax(1).tolist())

submission = pd.DataFrame({"id": test_df["id"], "species": [SPECIES[p] for p in preds]})
print(submission.head())
print("leaderboard score:", (submission["species"] == solution["species"]).mean())
