import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

NUM_COLS = ["area", "rooms", "age", "distance"]


class HousingDataset(Dataset):
    def __init__(self, frame, mean, std):
        x = (frame[NUM_COLS] - mean) / std
        self.x = torch.tensor(x.values, dtype=torch.float32)
        self.y = torch.tensor(frame["price"].values, dtype=torch.float32).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class PriceNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 64)
        self.bn1 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 32)
        self.bn2 = nn.BatchNorm1d(32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        x = F.relu(self.bn2(self.fc2(x)))
        return self.out(x)


def load_frame(n=641):
    rng = np.random.default_rng(7)
    df = pd.DataFrame({
        "area": rng.normal(110, 30, n),
        "rooms": rng.integers(1, 7, n),
        "age": rng.integers(0, 90, n),
        "distance": rng.exponential(5, n),
    })
    df["price"] = 0.02 * df["area"] + 0.1 * df["rooms"] - 0.005 * df["age"] - 0.05 * df["distance"]
    return df


df = load_frame()
train_df = df.sample(frac=0.8, random_state=0)
valid_df = df.drop(train_df.index)
mean, std = train_df[NUM_COLS].mean(), train_df[NUM_COLS].std()

train_dl = DataLoader(HousingDataset(train_df, mean, std), batch_size=64, shuffle=True)
valid_dl = DataLoader(HousingDataset(valid_df, mean, std), batch_size=64)

model = PriceNet(len(NUM_COLS))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    for xb, yb in train_dl:
        loss = F.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        total = sum(F.mse_loss(model(xb), yb, reduction="sum").item() for xb, yb in valid_dl)
    print(f"epoch {epoch} valid mse {total / len(valid_dl.dataset):.4f}")
