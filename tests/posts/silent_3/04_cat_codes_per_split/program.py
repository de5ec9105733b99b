import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def make_orders(n, stores, seed):
    rng = np.random.default_rng(seed)
    popularity = dict(zip(ALL_STORES, np.random.default_rng(1).normal(0, 1.2, len(ALL_STORES))))
    df = pd.DataFrame({
        "store": rng.choice(stores, n),
        "weekday": rng.choice(["mon", "tue", "wed", "thu", "fri", "sat", "sun"], n),
        "basket": rng.gamma(3.0, 12.0, n),
    })
    logit = df["store"].map(popularity) + 0.8 * df["weekday"].isin(["sat", "sun"]) + 0.01 * (df["basket"] - 36)
    df["returned"] = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    return df


ALL_STORES = [f"S{i:03d}" for i in range(40)]
train_df = make_orders(6000, ALL_STORES, seed=2)
test_df = make_orders(1500, [s for i, s in enumerate(ALL_STORES) if i % 5 != 2], seed=3)

CATEGORICAL = ["store", "weekday"]
sizes = [train_df[c].nunique() for c in CATEGORICAL]
for col in CATEGORICAL:
    train_df[col] = train_df[col].astype("category").cat.codes
    test_df[col] = test_df[col].astype("category").cat.codes
mean, std = train_df["basket"].mean(), train_df["basket"].std()


class Orders(Dataset):
    def __init__(self, df):
        self.cat = torch.tensor(df[CATEGORICAL].to_numpy(), dtype=torch.long)
        self.num = torch.tensor(((df["basket"] - mean) / std).to_numpy(), dtype=torch.float32).unsqueeze(1)
        self.y = torch.tensor(df["returned"].to_numpy(), dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.cat[i], self.num[i], self.y[i]


class ReturnModel(nn.Module):
    def __init__(self, sizes, dim=6):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(s, dim) for s in sizes])
        self.mlp = nn.Sequential(nn.Linear(dim * len(sizes) + 1, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, cat, num):
        parts = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat(parts + [num], dim=1)).squeeze(1)


def accuracy(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for cat, num, y in loader:
            hits += ((model(cat, num) > 0).float() == y).sum().item()
    return hits / len(loader.dataset)


torch.manual_seed(0)
train_loader = DataLoader(Orders(train_df), batch_size=128, shuffle=True)
test_loader = DataLoader(Orders(test_df), batch_size=256)
model = ReturnModel(sizes)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(8):
    model.train()
    for cat, num, y in train_loader:
        loss = criterion(model(cat, num), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: train acc {accuracy(model, train_loader):.3f}  test acc {accuracy(model, test_loader):.3f}")
