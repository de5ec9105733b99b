from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

CATEGORICAL = ["site", "device", "campaign", "hour"]
BUCKETS = 20_000


def make_log(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "site": [f"site{int(v)}" for v in rng.zipf(1.4, n) % 900],
        "device": rng.choice(["ios", "android", "web", "tv"], n, p=[.3, .4, .25, .05]),
        "campaign": [f"c{v}" for v in rng.integers(0, 60, n)],
        "hour": rng.integers(0, 24, n).astype(str),
        "price": rng.lognormal(0, .5, n),
        "position": rng.integers(1, 6, n),
    })
    logit = -1.2 + 0.9 * (df.device == "ios") - 0.35 * df.position + 0.7 * (df.campaign.str[1:].astype(int) % 3 == 0)
    df["click"] = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.float32)
    return df


def bucket(col: str, value: str) -> int:
    return int(hashlib.md5(f"{col}={value}".encode()).hexdigest()[:8], 16) % BUCKETS


def featurize(df: pd.DataFrame) -> TensorDataset:
    cats = np.stack([df[c].map({v: bucket(c, v) for v in df[c].unique()}).to_numpy() for c in CATEGORICAL], axis=1)
    nums = np.stack([np.log(df["price"]), (df["position"] - 3) / 1.4], axis=1).astype(np.float32)
    return TensorDataset(
        torch.from_numpy(cats).long(), torch.from_numpy(nums), torch.from_numpy(df["click"].to_numpy(copy=True))
    )


class WideAndDeep(nn.Module):
    def __init__(self, buckets: int, dim: int = 16, n_num: int = 2, sparse: bool = True) -> None:
        super().__init__()
        self.wide = nn.EmbeddingBag(buckets, 1, mode="sum", sparse=sparse)
        self.emb = nn.Embedding(buckets, dim, sparse=sparse)
        self.deep = nn.Sequential(
            nn.Linear(dim * len(CATEGORICAL) + n_num, 64), nn.ReLU(),
            nn.Linear(64, 32), nn.ReLU(),
            nn.Linear(32, 1),
        )
        nn.init.zeros_(self.wide.weight)
        nn.init.normal_(self.emb.weight, std=0.05)

    def forward(self, cats: Tensor, nums: Tensor) -> Tensor:
        deep_in = torch.cat([self.emb(cats).flatten(1), nums], dim=1)
        return (self.wide(cats) + self.deep(deep_in)).squeeze(1)


def train(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> None:
    criterion = nn.BCEWithLogitsLoss()
    optimizers = [torch.optim.Adam(model.parameters(), lr=lr)]
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for cats, nums, click in loader:
            loss = criterion(model(cats, nums), click)
            for opt in optimizers:
                opt.zero_grad()
            loss.backward()
            for opt in optimizers:
                opt.step()
            total += loss.item() * len(click)
        print(f"epoch {epoch + 1}: logloss {total / len(loader.dataset):.4f}")


def main() -> None:
    torch.manual_seed(0)
    train_set, test_set = featurize(make_log(12_000, 1)), featurize(make_log(3_000, 2))
    model = WideAndDeep(BUCKETS)
    train(model, DataLoader(train_set, batch_size=256, shuffle=True), epochs=2, lr=2e-3)
    model.eval()
    with torch.no_grad():
        cats, nums, click = test_set.tensors
        p = torch.sigmoid(model(cats, nums))
    print(f"test: mean ctr {click.mean():.3f}, predicted {p.mean():.3f}")


if __name__ == "__main__":
    main()
