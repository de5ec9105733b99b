"""Predict flat prices from listings; reports MAE and R2 on the hold-out set."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def load_listings(n: int = 900, seed: int = 8) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "area": rng.uniform(25, 140, n),
        "rooms": rng.integers(1, 6, n),
        "floor": rng.integers(0, 12, n),
        "year": rng.integers(1900, 2023, n),
        "district": rng.choice(["old town", "harbour", "north", "west"], n),
    })
    district_price = df["district"].map({"old town": 5.2, "harbour": 4.6, "north": 3.1, "west": 3.6})
    df["price"] = df["area"] * district_price + 0.4 * (df["year"] - 1960) + 2.5 * df["floor"] \
        + rng.normal(0, 15, n)
    return df


def prepare(df: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    dummies = pd.get_dummies(df["district"], dtype=float)
    num = df[["area", "rooms", "floor", "year"]].astype(float)
    x = pd.concat([num, dummies], axis=1).to_numpy(dtype=np.float32)
    return x, df["price"].to_numpy(dtype=np.float32)


class Listings(Dataset):
    def __init__(self, x: np.ndarray, y: np.ndarray):
        self.x = torch.from_numpy(x)
        self.y = torch.from_numpy(y)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class PriceNet(nn.Module):
    def __init__(self, n_in: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def r2_score(y_true: torch.Tensor, y_pred: torch.Tensor) -> float:
    ss_res = ((y_true - y_pred) ** 2).sum()
    ss_tot = ((y_true - y_true.mean()) ** 2).sum()
    return (1 - ss_res / ss_tot).item()


@torch.no_grad()
def predict(model, loader):
    model.eval()
    preds, targets = [], []
    for x, y in loader:
        preds.append(model(x).squeeze(1))
        targets.append(y)
    return torch.cat(targets), torch.cat(preds)


def main():
    torch.manual_seed(0)
    x, y = prepare(load_listings())
    n_train = 700
    x_mean, x_std = x[:n_train].mean(0), x[:n_train].std(0)
    y_mean, y_std = y[:n_train].mean(), y[:n_train].std()
    x = (x - x_mean) / x_std
    y = (y - y_mean) / y_std
    train_dl = DataLoader(Listings(x[:n_train], y[:n_train]), batch_size=50, shuffle=True)
    test_dl = DataLoader(Listings(x[n_train:], y[n_train:]), batch_size=100)

    model = PriceNet(x.shape[1])
    criterion = nn.HuberLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(20):
        model.train()
        epoch_loss = 0.0
        for xb, yb in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb.unsqueeze(1))
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() * len(yb)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:2d}: train loss {epoch_loss / n_train:.4f}")

    y_true, y_pred = predict(model, test_dl)
    mae = (y_true - y_pred).abs().mean().item() * float(y_std)
    print(f"test MAE {mae:.1f} kEUR, R2 {r2_score(y_true, y_pred):.3f}")


if __name__ == "__main__":
    main()
