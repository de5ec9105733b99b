import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 2023
FIELDS = ["user_group", "ad_category", "hour", "device"]
SIZES = [12, 15, 24, 4]


def make_log(n=4000):
    """Click log: the click depends on combinations of fields."""
    rng = np.random.default_rng(SEED)
    df = pd.DataFrame({f: rng.integers(0, s, n) for f, s in zip(FIELDS, SIZES)})
    taste = rng.normal(0, 1.6, (SIZES[0], 2)) @ rng.normal(0, 1.0, (2, SIZES[1]))
    z = taste[df["user_group"], df["ad_category"]] + 0.5 * (df["hour"] > 17) - 0.4
    df["click"] = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return df


class FeaturesLinear(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.weight = nn.Embedding(n_features, 1)
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.zeros_(self.weight.weight)

    def forward(self, x):
        return self.weight(x).sum(dim=1).squeeze(1) + self.bias


class PairwiseInteraction(nn.Module):
    """0.5 * ((sum v)^2 - sum v^2), eq. (6) of Rendle 2010"""

    def __init__(self, n_features, k):
        super().__init__()
        self.v = (0.05 * torch.randn(n_features, k)).requires_grad_()

    def forward(self, x):
        e = self.v[x]
        square_of_sum = e.sum(dim=1).pow(2)
        sum_of_square = e.pow(2).sum(dim=1)
        return 0.5 * (square_of_sum - sum_of_square).sum(dim=1)


class FM(nn.Module):
    def __init__(self, sizes, k=8):
        super().__init__()
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.register_buffer("offsets", torch.as_tensor(offsets, dtype=torch.long))
        n = int(sum(sizes))
        self.linear = FeaturesLinear(n)
        self.pairs = PairwiseInteraction(n, k)

    def forward(self, x):
        x = x + self.offsets
        return self.linear(x) + self.pairs(x)


def auc(y, s):
    rank = pd.Series(s).rank().to_numpy()
    pos = y == 1
    n1, n0 = pos.sum(), (~pos).sum()
    return (rank[pos].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)


df = make_log()
x = torch.tensor(df[FIELDS].values, dtype=torch.long)
y = torch.from_numpy(df["click"].to_numpy(dtype=np.float32))
train_dl = DataLoader(TensorDataset(x[:3200], y[:3200]), batch_size=64, shuffle=True)
x_test, y_test = x[3200:], y[3200:]

torch.manual_seed(SEED)
model = FM(SIZES)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(1, 16):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(yb)
    if epoch % 3 == 0:
        model.eval()
        with torch.no_grad():
            score = model(x_test).numpy()
        print(f"epoch {epoch:2d}  logloss {total / 3200:.4f}  test AUC {auc(y_test.numpy(), score):.4f}")
