from dataclasses import dataclass
from typing import Dict, List

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    cat_cols: tuple = ("device", "country", "hour")
    num_cols: tuple = ("age", "past_clicks", "price")
    emb_dim: int = 8
    hidden: int = 64
    batch_size: int = 128
    epochs: int = 2
    lr: float = 1e-3


def make_log(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "device": rng.integers(0, 4, n),
        "country": rng.integers(0, 20, n),
        "hour": rng.integers(0, 24, n),
        "age": rng.normal(35, 10, n),
        "past_clicks": rng.poisson(3, n).astype(float),
        "price": rng.gamma(2.0, 10.0, n),
    })
    p = 1 / (1 + np.exp(-(0.4 * df.past_clicks - 0.05 * df.price - 0.5)))
    df["click"] = rng.binomial(1, p).astype(float)
    df["buy"] = rng.binomial(1, 0.3 * p).astype(float)
    return df


class SharedBottom(nn.Module):
    def __init__(self, cards: List[int], n_num: int, cfg: Config):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, cfg.emb_dim) for c in cards])
        width = cfg.emb_dim * len(cards) + n_num
        self.bottom = nn.Sequential(
            nn.Linear(width, cfg.hidden), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(),
        )
        self.towers = nn.ModuleDict({
            "click": nn.Linear(cfg.hidden, 1),
            "buy": nn.Linear(cfg.hidden, 1),
        })

    def forward(self, cats: Tensor, nums: Tensor) -> Dict[str, Tensor]:
        e = torch.cat([emb(cats[:, i]) for i, emb in enumerate(self.embs)], dim=1)
        h = self.bottom(torch.cat([e, nums], dim=1))
        return {name: tower(h).squeeze() for name, tower in self.towers.items()}


def to_dataset(df: pd.DataFrame, cfg: Config, mean, std) -> TensorDataset:
    cats = torch.tensor(df[list(cfg.cat_cols)].values, dtype=torch.long)
    nums = (df[list(cfg.num_cols)].values - mean) / std
    y = torch.tensor(df[["click", "buy"]].values, dtype=torch.float32)
    return TensorDataset(cats, torch.tensor(nums, dtype=torch.float32), y)


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader) -> Dict[str, float]:
    model.eval()
    probs: Dict[str, List[Tensor]] = {"click": [], "buy": []}
    labels = []
    for cats, nums, y in loader:
        for name, logit in model(cats, nums).items():
            probs[name].append(torch.sigmoid(logit))
        labels.append(y)
    y = torch.cat(labels)
    return {
        name: nn.functional.binary_cross_entropy(torch.cat(p), y[:, i]).item()
        for i, (name, p) in enumerate(probs.items())
    }


def main() -> None:
    torch.manual_seed(0)
    cfg = Config()
    train_df, valid_df = make_log(4096, 0), make_log(1025, 1)
    mean = train_df[list(cfg.num_cols)].values.mean(0)
    std = train_df[list(cfg.num_cols)].values.std(0)
    train_loader = DataLoader(to_dataset(train_df, cfg, mean, std), cfg.batch_size, shuffle=True)
    valid_loader = DataLoader(to_dataset(valid_df, cfg, mean, std), cfg.batch_size)

    model = SharedBottom([4, 20, 24], len(cfg.num_cols), cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(cfg.epochs):
        model.train()
        for cats, nums, y in train_loader:
            out = model(cats, nums)
            loss = bce(out["click"], y[:, 0]) + bce(out["buy"], y[:, 1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, evaluate(model, valid_loader))


if __name__ == "__main__":
    main()
