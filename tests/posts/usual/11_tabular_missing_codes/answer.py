import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(42)
n = 600

df = pd.DataFrame({
    "job": rng.choice(["admin", "technician", "services", "retired", "student"], n),
    "education": rng.choice(["primary", "secondary", "tertiary", None], n, p=[0.3, 0.4, 0.25, 0.05]),
    "city": rng.choice([f"city_{i}" for i in range(20)], n),
    "age": rng.integers(18, 80, n).astype(float),
    "balance": rng.normal(1000, 500, n),
})
df["target"] = (df["balance"] + 10 * df["age"] + rng.normal(0, 200, n) > 1500).astype(int)

cat_cols = ["job", "education", "city"]
num_cols = ["age", "balance"]

emb_sizes = []
for col in cat_cols:
    df[col] = df[col].astype("category")
    n_cat = len(df[col].cat.categories) + 1
    emb_sizes.append((n_cat, min(50, (n_cat + 1) // 2)))

cats = np.stack([df[c].cat.codes.values + 1 for c in cat_cols], axis=1)
nums = df[num_cols].values
nums = (nums - nums.mean(0)) / nums.std(0)

cats = torch.tensor(cats, dtype=torch.int64)
nums = torch.tensor(nums, dtype=torch.float32)
y = torch.tensor(df["target"].values, dtype=torch.float32)
loader = DataLoader(TensorDataset(cats, nums, y), batch_size=64, shuffle=True)


class TabularModel(nn.Module):
    def __init__(self, emb_sizes, n_cont, layers=(64, 32), p=0.3):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(ni, nf) for ni, nf in emb_sizes])
        self.emb_drop = nn.Dropout(p)
        self.bn_cont = nn.BatchNorm1d(n_cont)
        n_in = sum(nf for _, nf in emb_sizes) + n_cont
        blocks = []
        for width in layers:
            blocks += [nn.Linear(n_in, width), nn.ReLU(inplace=True), nn.BatchNorm1d(width), nn.Dropout(p)]
            n_in = width
        blocks.append(nn.Linear(n_in, 1))
        self.layers = nn.Sequential(*blocks)

    def forward(self, x_cat, x_cont):
        emb = [e(x_cat[:, i]) for i, e in enumerate(self.embeds)]
        x = self.emb_drop(torch.cat(emb, 1))
        x = torch.cat([x, self.bn_cont(x_cont)], 1)
        return self.layers(x).squeeze(1)


model = TabularModel(emb_sizes, len(num_cols))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    for xc, xn, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(xc, xn), target)
        loss.backward()
        optimizer.step()
    print(f"epoch: {epoch:3} loss: {loss.item():.6f}")
