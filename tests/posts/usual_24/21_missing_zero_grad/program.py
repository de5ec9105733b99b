import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn


def make_frame(n=2000, seed=3):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "area": rng.normal(90, 25, n),
        "rooms": rng.integers(1, 6, n),
        "year": rng.integers(1930, 2020, n),
        "distance": rng.exponential(6, n),
    })
    df["price"] = (
        2.1 * df["area"] + 14 * df["rooms"] + 0.5 * (df["year"] - 1930)
        - 4 * df["distance"] + rng.normal(0, 10, n)
    )
    return df


def standardize(train, test):
    mean, std = train.mean(), train.std()
    return (train - mean) / std, (test - mean) / std


def to_tensors(df):
    x = torch.tensor(df.drop(columns="price").to_numpy(), dtype=torch.float32)
    y = torch.tensor(df[["price"]].to_numpy(), dtype=torch.float32)
    return x, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()

    torch.manual_seed(3)
    df = make_frame()
    train, test = standardize(df.iloc[:1600], df.iloc[1600:])
    x_train, y_train = to_tensors(train)
    x_test, y_test = to_tensors(test)

    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for idx in torch.randperm(len(x_train)).split(args.batch_size):
            loss = loss_fn(model(x_train[idx]), y_train[idx])
            loss.backward()
            optimizer.step()

        model.eval()
        with torch.no_grad():
            test_mse = loss_fn(model(x_test), y_test).item()
        print(f"epoch {epoch + 1:2d}  test mse {test_mse:.4f}")


if __name__ == "__main__":
    main()
