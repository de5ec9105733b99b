import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

FEATURES = ["temp", "humidity", "windspeed", "hour_sin", "hour_cos"]


def load_data(n=600):
    rng = np.random.default_rng(11)
    hour = rng.integers(0, 24, n)
    df = pd.DataFrame({
        "temp": rng.normal(0, 1, n),
        "humidity": rng.normal(0, 1, n),
        "windspeed": rng.normal(0, 1, n),
        "hour_sin": np.sin(2 * np.pi * hour / 24),
        "hour_cos": np.cos(2 * np.pi * hour / 24),
    })
    df["count"] = 2 * df["temp"] - df["humidity"] - 1.5 * df["hour_cos"] + rng.normal(0, 0.1, n)
    return df


class BikeDataset(Dataset):
    def __init__(self, df):
        self.X = torch.tensor(df[FEATURES].values, dtype=torch.float32)
        self.y = torch.tensor(df["count"].values, dtype=torch.float32)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class MLP(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_features, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x)


def rmse_loss(pred, target):
    return torch.sqrt(torch.mean((pred - target) ** 2) + 1e-8)


def fit(model, loader, epochs=20, lr=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for X, y in loader:
            optimizer.zero_grad()
            pred = model(X)
            loss = rmse_loss(pred, y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1}: rmse {total / len(loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    data = load_data()
    train_loader = DataLoader(BikeDataset(data), batch_size=50, shuffle=True)
    net = MLP(len(FEATURES))
    fit(net, train_loader)
