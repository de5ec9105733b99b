"""Daily bakery demand, 12 stores, one model for all of them."""
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    n_stores: int = 12
    n_days: int = 420
    valid_days: int = 60
    lags: tuple = (1, 2, 7)
    batch_size: int = 128
    epochs: int = 15
    lr: float = 3e-3


def load_sales(cfg: Settings) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    dates = pd.date_range("2023-01-01", periods=cfg.n_days, freq="D")
    frames = []
    for store in range(cfg.n_stores):
        level = rng.uniform(80, 300)
        drift = np.cumsum(rng.normal(0, 0.05, cfg.n_days))
        drift = drift - np.linspace(0, drift[-1], cfg.n_days)
        weekly = 1 + 0.25 * np.sin(2 * np.pi * (dates.day_of_week + rng.integers(0, 7)) / 7)
        sales = level * np.exp(drift) * weekly * rng.lognormal(0, 0.05, cfg.n_days)
        frames.append(pd.DataFrame({"date": dates, "store": store, "sales": sales}))
    return pd.concat(frames, ignore_index=True)


def add_features(df: pd.DataFrame, cfg: Settings):
    df = df.sort_values(["date", "store"]).reset_index(drop=True)
    df["sales"] = np.log(df["sales"])
    for k in cfg.lags:
        df[f"lag_{k}"] = df.groupby("store")["sales"].shift(k)
    df["mean_7"] = df.groupby("store")["sales"].transform(lambda s: s.shift(1).rolling(7).mean())
    df["dow_sin"] = np.sin(2 * np.pi * df["date"].dt.day_of_week / 7)
    df["dow_cos"] = np.cos(2 * np.pi * df["date"].dt.day_of_week / 7)
    columns = [f"lag_{k}" for k in cfg.lags] + ["mean_7", "dow_sin", "dow_cos"]
    return df.dropna(), columns


class DemandNet(nn.Module):
    def __init__(self, n_features: int, n_stores: int, emb: int = 4, hidden: int = 48):
        super().__init__()
        self.store = nn.Embedding(n_stores, emb)
        self.net = nn.Sequential(
            nn.Linear(n_features + emb, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x, store):
        return self.net(torch.cat([x, self.store(store)], dim=1)).squeeze(1)


def tensors(part: pd.DataFrame, columns, mean, std):
    x = torch.tensor(((part[columns] - mean) / std).to_numpy(), dtype=torch.float32)
    store = torch.tensor(part["store"].to_numpy())
    y = torch.tensor(part["sales"].to_numpy(), dtype=torch.float32)
    return TensorDataset(x, store, y)


def main():
    torch.manual_seed(0)
    cfg = Settings()
    df, columns = add_features(load_sales(cfg), cfg)
    cut = df["date"].max() - pd.Timedelta(days=cfg.valid_days)
    train, valid = df[df["date"] <= cut], df[df["date"] > cut]
    mean, std = train[columns].mean(), train[columns].std()
    y_mean = float(train["sales"].mean())

    loader = DataLoader(tensors(train, columns, mean, std), cfg.batch_size, shuffle=True)
    x_va, s_va, y_va = tensors(valid, columns, mean, std).tensors
    model = DemandNet(len(columns), cfg.n_stores)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    loss_fn = nn.L1Loss()

    for epoch in range(1, cfg.epochs + 1):
        model.train()
        for x, s, y in loader:
            opt.zero_grad()
            loss = loss_fn(model(x, s), y - y_mean)
            loss.backward()
            opt.step()
        if epoch % 3 == 0:
            model.eval()
            with torch.no_grad():
                pred = (model(x_va, s_va) + y_mean).exp()
            mape = ((pred - y_va.exp()).abs() / y_va.exp()).mean().item()
            print(f"epoch {epoch:2d}: train L1 {loss.item():.3f}, valid MAPE {100 * mape:.1f}%")


if __name__ == "__main__":
    main()
