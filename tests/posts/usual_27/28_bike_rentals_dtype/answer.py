import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def rental_table(days=60, seed=3):
    rng = np.random.default_rng(seed)
    hours = pd.date_range("2026-04-01", periods=24 * days, freq="h")
    df = pd.DataFrame({"time": hours})
    df["hour"] = df.time.dt.hour
    df["weekday"] = (df.index // 24 + 2) % 7
    df["temp"] = 14 + 6 * np.sin((df.hour - 9) / 24 * 2 * np.pi) + rng.normal(0, 2, len(df))
    df["rain"] = (rng.random(len(df)) < 0.15).astype(int)
    rush = np.exp(-((df.hour - 8) ** 2) / 4) + np.exp(-((df.hour - 17) ** 2) / 6)
    mean = 20 + 180 * rush * (df.weekday < 5) + 4 * df.temp.clip(lower=0)
    df["rentals"] = rng.poisson(mean * (1 - 0.6 * df.rain))
    return df


def add_features(df):
    df = df.copy()
    df["hour_sin"] = np.sin(2 * np.pi * df.hour / 24)
    df["hour_cos"] = np.cos(2 * np.pi * df.hour / 24)
    df["weekend"] = (df.weekday >= 5).astype(int)
    df["rush"] = df.hour.isin([7, 8, 9, 16, 17, 18]).astype(int) * (1 - df.weekend)
    df["temp_norm"] = (df.temp - 14) / 6
    return df


FEATURES = ["hour_sin", "hour_cos", "weekend", "rush", "temp_norm", "rain"]


class BikeHours(Dataset):
    def __init__(self, df):
        self.features = df[FEATURES].to_numpy(dtype=np.float32)
        self.rentals = np.log1p(df["rentals"]).to_numpy(dtype=np.float32)

    def __len__(self):
        return len(self.rentals)

    def __getitem__(self, i):
        return torch.tensor(self.features[i]), torch.tensor(self.rentals[i])


class RentalNet(nn.Module):
    def __init__(self, n_features, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Fitter:
    def __init__(self, model, lr):
        self.model = model
        self.loss = nn.HuberLoss(delta=0.5)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, loader):
        self.model.train()
        for features, rentals in loader:
            self.optimizer.zero_grad()
            loss = self.loss(self.model(features), rentals)
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def rmse(self, loader):
        self.model.eval()
        squares = [(self.model(f).expm1() - r.expm1()) ** 2 for f, r in loader]
        return torch.cat(squares).mean().sqrt().item()


torch.manual_seed(0)
table = add_features(rental_table())
split = 24 * 50
train_loader = DataLoader(BikeHours(table.iloc[:split]), batch_size=48, shuffle=True)
test_loader = DataLoader(BikeHours(table.iloc[split:]), batch_size=48)
fitter = Fitter(RentalNet(len(FEATURES)), lr=5e-3)
for epoch in range(10):
    fitter.epoch(train_loader)
    if epoch % 3 == 0:
        print(f"epoch {epoch}: test rmse {fitter.rmse(test_loader):.1f} rentals per hour")
