"""Deep ensemble for sepsis alarms: five MLPs, averaged probabilities, AUC and calibration table."""
from typing import Dict, List

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = ["heart_rate", "resp_rate", "temperature", "lactate", "wbc", "map"]


def icu_stays(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sick = rng.random(n) < 0.3
    df = pd.DataFrame({
        "heart_rate": rng.normal(85, 12, n) + 14 * sick,
        "resp_rate": rng.normal(17, 3, n) + 4 * sick,
        "temperature": rng.normal(36.9, 0.5, n) + rng.choice([-0.9, 1.2], n) * sick,
        "lactate": rng.gamma(2.0, 0.6, n) + 1.1 * sick,
        "wbc": rng.normal(9, 2.5, n) + 2.5 * sick,
        "map": rng.normal(82, 9, n) - 10 * sick,
    })
    df["sepsis"] = sick.astype(int)
    return df


class MLP(nn.Module):
    def __init__(self, n_in: int, width: int = 32, p: float = 0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Dropout(p),
                                 nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def make_loaders(batch_size: int = 64) -> Dict[str, DataLoader]:
    frames = {"train": icu_stays(1500, 0), "test": icu_stays(600, 1)}
    mean, std = frames["train"][FEATURES].mean(), frames["train"][FEATURES].std()
    loaders = {}
    for name, df in frames.items():
        x = torch.tensor(((df[FEATURES] - mean) / std).to_numpy(), dtype=torch.float32)
        y = torch.tensor(df["sepsis"].to_numpy(), dtype=torch.float32)
        loaders[name] = DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True)
    return loaders


def train_member(seed: int, loader: DataLoader, epochs: int = 6) -> MLP:
    torch.manual_seed(seed)
    model = MLP(len(FEATURES))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    model.train()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            loss_fn(model(x), y).backward()
            opt.step()
    return model


@torch.no_grad()
def predict_proba(model: MLP, loader: DataLoader) -> np.ndarray:
    model.eval()
    return torch.cat([torch.sigmoid(model(x)) for x, _ in loader]).numpy()


def roc_auc(y: np.ndarray, score: np.ndarray) -> float:
    rank = pd.Series(score).rank().to_numpy()
    n1, n0 = (y == 1).sum(), (y == 0).sum()
    return float((rank[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * n0))


def reliability(y: np.ndarray, p: np.ndarray, bins: int = 5) -> pd.DataFrame:
    cut = pd.cut(p, np.linspace(0, 1, bins + 1), include_lowest=True)
    table = pd.DataFrame({"p": p, "y": y}).groupby(cut, observed=True).agg(n=("y", "size"), predicted=("p", "mean"),
                                                                          observed=("y", "mean"))
    return table.round(3)


def main():
    loaders = make_loaders()
    members: List[MLP] = [train_member(seed, loaders["train"]) for seed in range(5)]
    y_test = loaders["test"].dataset.tensors[1].numpy()
    probs = np.stack([predict_proba(m, loaders["test"]) for m in members])
    for k, p in enumerate(probs):
        print(f"member {k}: AUC {roc_auc(y_test, p):.3f}")
    mean_p = probs.mean(axis=0)
    print(f"ensemble: AUC {roc_auc(y_test, mean_p):.3f}, Brier {np.mean((mean_p - y_test) ** 2):.3f}")
    print(f"disagreement between members (mean std) {probs.std(axis=0).mean():.3f}")
    print(reliability(y_test, mean_p))


if __name__ == "__main__":
    main()
