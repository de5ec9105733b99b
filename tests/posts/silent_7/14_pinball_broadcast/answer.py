import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = ["hour", "rain", "stops", "distance_km"]


def delivery_table(n, seed):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "hour": rng.uniform(8, 20, n),
        "rain": rng.binomial(1, 0.3, n).astype(float),
        "stops": rng.integers(1, 12, n).astype(float),
        "distance_km": rng.gamma(4, 3, n),
    })
    rush = np.exp(-((df["hour"] - 17) ** 2) / 4)
    base = 2.5 * df["distance_km"] * (1 + 0.5 * rush + 0.3 * df["rain"]) + 4 * df["stops"]
    df["minutes"] = base + rng.exponential(4 + 6 * df["rain"], n)
    return df


class QuantileNet(nn.Module):
    def __init__(self, n_features, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x)


def pinball_loss(prediction, target, q):
    error = target - prediction
    return torch.maximum(q * error, (q - 1) * error).mean()


def train_quantile(q, loader, n_features, epochs=12):
    torch.manual_seed(0)
    model = QuantileNet(n_features)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for features, minutes in loader:
            loss = pinball_loss(model(features).squeeze(1), minutes, q)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 4 == 3:
            print(f"  q={q}  epoch {epoch + 1:2d}  pinball {total / len(loader):.4f}")
    return model


train_df = delivery_table(2500, seed=0)
test_df = delivery_table(800, seed=1)
mu, sd = train_df[FEATURES].mean(), train_df[FEATURES].std()
y_mu, y_sd = train_df["minutes"].mean(), train_df["minutes"].std()


def tensors(df):
    x = torch.tensor(((df[FEATURES] - mu) / sd).to_numpy(), dtype=torch.float32)
    y = torch.tensor(((df["minutes"] - y_mu) / y_sd).to_numpy(), dtype=torch.float32)
    return x, y


loader = DataLoader(TensorDataset(*tensors(train_df)), batch_size=64, shuffle=True)
x_test, _ = tensors(test_df)
for q in (0.1, 0.5, 0.9):
    model = train_quantile(q, loader, len(FEATURES)).eval()
    with torch.no_grad():
        quantile = model(x_test).numpy().ravel() * y_sd + y_mu
    true = test_df["minutes"].to_numpy()
    print(f"q={q}: covered {np.mean(true <= quantile):.3f}  correlation with the truth "
          f"{np.corrcoef(quantile, true)[0, 1]:.3f}  spread {quantile.std():.2f} min")
