import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
rng = np.random.default_rng(0)
df = pd.DataFrame(
    {
        "area": rng.uniform(30, 200, 700),
        "rooms": rng.integers(1, 7, 700),
        "year": rng.integers(1900, 2020, 700),
    }
)
df["price"] = 2.0 * df["area"] + 15 * df["rooms"] + 0.1 * (df["year"] - 1900) + rng.normal(0, 10, 700)

train_df, val_df = train_test_split(df, test_size=0.2, random_state=0)


class Houses(Dataset):
    features = ["area", "rooms", "year"]

    def __init__(self, frame, stats):
        x = (frame[self.features] - stats.loc["mean", self.features]) / stats.loc["std", self.features]
        self.x = torch.tensor(x.values, dtype=torch.float32)
        self.y = (frame["price"] - stats.loc["mean", "price"]) / stats.loc["std", "price"]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], torch.tensor([self.y[i]], dtype=torch.float32)


stats = train_df.describe()
train_loader = DataLoader(Houses(train_df, stats), batch_size=35, shuffle=True)
val_loader = DataLoader(Houses(val_df, stats), batch_size=70)

model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        val = np.mean([nn.functional.mse_loss(model(x), y).item() for x, y in val_loader])
    print(f"epoch {epoch} val mse {val:.4f}")
