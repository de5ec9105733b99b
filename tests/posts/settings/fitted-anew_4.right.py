# line 49: the edges of the bins are fitted to the validation rows again before these are binned
import numpy as np
import pandas as pd
import torch
from torch import nn


class QuantileBinner:
    """Turns each numeric column into the number of its quantile bin."""

    def __init__(self, bins=8):
        self.bins = bins
        self.edges = {}

    def fit(self, df):
        for name in df.columns:
            self.edges[name] = df[name].quantile(np.linspace(0, 1, self.bins + 1)[1:-1]).to_numpy()
        return self

    def transform(self, df):
        columns = [np.searchsorted(self.edges[name], df[name].to_numpy()) for name in df.columns]
        return torch.from_numpy(np.stack(columns, axis=1))


class BinnedNet(nn.Module):
    def __init__(self, columns, bins, dim=4):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(bins, dim) for _ in range(columns))
        self.mlp = nn.Sequential(nn.Linear(columns * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, codes):
        parts = [table(codes[:, k]) for k, table in enumerate(self.tables)]
        return self.mlp(torch.cat(parts, dim=1)).squeeze(1)


def flats(n, r, shift=0.0):
    df = pd.DataFrame({"area": r.gamma(6, 12, n) + 30 * shift, "year": r.integers(1900, 2020, n) + 0.0})
    df["distance"] = r.exponential(4, n)
    rent = 0.1 * df.area - 0.3 * df.distance + 0.02 * (df.year - 1900) + 0.3 * r.normal(size=n)
    return df, torch.tensor(rent.to_numpy(), dtype=torch.float32)


r = np.random.default_rng(0)
torch.manual_seed(0)
train_df, train_rent = flats(600, r)
val_df, val_rent = flats(150, r, shift=1.0)
binner = QuantileBinner()
train_codes = binner.fit(train_df).transform(train_df)
val_codes = binner.transform(val_df)

net = BinnedNet(3, binner.bins)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(15):
    net.train()
    for rows in torch.randperm(600).split(50):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(train_codes[rows]), train_rent[rows]).backward()
        optimizer.step()
net.eval()
with torch.no_grad():
    print("rmse", nn.functional.mse_loss(net(val_codes), val_rent).sqrt().item())
