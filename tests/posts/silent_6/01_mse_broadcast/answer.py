import warnings

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


def make_houses(n=1500, seed=3):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "area": rng.uniform(40, 240, n),
        "people": rng.integers(1, 7, n),
        "insulation": rng.uniform(0, 1, n),
        "outside_temp": rng.normal(8, 7, n),
    })
    df["kwh"] = (
        0.08 * df.area * (1.3 - df.insulation)
        + 1.7 * df.people
        - 0.25 * df.outside_temp
        + rng.normal(0, 0.8, n)
    )
    return df


def to_tensors(df, columns, mean, std):
    x = torch.tensor(((df[columns] - mean) / std).values, dtype=torch.float32)
    y = torch.tensor(df["kwh"].values, dtype=torch.float32)
    return x, y


def build_model(n_in):
    return nn.Sequential(
        nn.Linear(n_in, 64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
    )


def fit(model, loader, epochs, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        seen, total = 0, 0.0
        for xb, yb in loader:
            opt.zero_grad()
            pred = model(xb).squeeze(-1)
            loss = F.mse_loss(pred, yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
            seen += len(xb)
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1:2d}  train mse {total / seen:.3f}")


def r2(model, x, y):
    model.eval()
    with torch.no_grad():
        p = model(x).reshape(-1)
    return 1 - ((p - y) ** 2).sum().item() / ((y - y.mean()) ** 2).sum().item()


def main():
    torch.manual_seed(1)
    df = make_houses()
    columns = ["area", "people", "insulation", "outside_temp"]
    train_df, test_df = df.iloc[:1200], df.iloc[1200:]
    mean, std = train_df[columns].mean(), train_df[columns].std()
    x, y = to_tensors(train_df, columns, mean, std)
    xt, yt = to_tensors(test_df, columns, mean, std)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = build_model(len(columns))
    fit(model, loader, epochs=20, lr=3e-3)
    print(f"test R2 {r2(model, xt, yt):.3f}")


if __name__ == "__main__":
    main()
