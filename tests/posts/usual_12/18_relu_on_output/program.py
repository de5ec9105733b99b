"""Predict next-day return spread of two funds from 10 indicators (coursework, group 7)."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(77)
N, D = 1200, 10
ind = rng.normal(size=(N, D))
w = rng.normal(size=D)
spread = 0.4 * ind @ w + 0.3 * np.tanh(ind[:, 0] * ind[:, 1]) + rng.normal(0, 0.1, N)
frame = pd.DataFrame(ind, columns=[f"ind_{i}" for i in range(D)]).assign(spread=spread)
frame.to_csv("spread.csv", index=False)


class SpreadDataset(Dataset):
    def __init__(self, frame):
        self.x = torch.tensor(frame.drop(columns="spread").to_numpy(), dtype=torch.float32)
        self.y = torch.tensor(frame["spread"].to_numpy(), dtype=torch.float32).reshape(-1, 1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for n_in, n_out in zip(sizes[:-1], sizes[1:]):
            layers.append(nn.Linear(n_in, n_out))
            layers.append(nn.ReLU())
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


def r2(pred, true):
    return 1 - ((pred - true) ** 2).sum().item() / ((true - true.mean()) ** 2).sum().item()


def main():
    torch.manual_seed(4)
    df = pd.read_csv("spread.csv")
    train, test = SpreadDataset(df[:1000]), SpreadDataset(df[1000:])
    loader = DataLoader(train, batch_size=50, shuffle=True)
    model = MLP([D, 64, 32, 1])
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    mse = nn.MSELoss()

    for epoch in range(15):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = mse(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: train mse {total / len(train):.4f}")

    model.eval()
    with torch.no_grad():
        pred = model(test.x)
    print(f"test R2 {r2(pred, test.y):.3f}")
    print(pd.DataFrame({"true": test.y[:8, 0].numpy(), "pred": pred[:8, 0].numpy()}).round(3))


main()
