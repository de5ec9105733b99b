import argparse
import warnings

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")


class EnergyDataset(Dataset):
    def __init__(self, frame, target="load"):
        self.features = torch.tensor(frame.drop(columns=[target]).to_numpy(), dtype=torch.float32)
        self.target = torch.tensor(frame[target].to_numpy(), dtype=torch.float32)

    def __len__(self):
        return len(self.target)

    def __getitem__(self, idx):
        return self.features[idx], self.target[idx]


def make_frame(n):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({
        "temperature": rng.normal(size=n),
        "humidity": rng.normal(size=n),
        "weekend": rng.integers(0, 2, size=n),
        "hour_sin": np.sin(rng.uniform(0, 2 * np.pi, size=n)),
    })
    frame["load"] = (
        1.5 * frame["temperature"] - 0.7 * frame["weekend"] + frame["hour_sin"]
        + 0.1 * rng.normal(size=n)
    )
    return frame


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--batch_size", type=int, default=64)
    return p.parse_args()


def main(args):
    torch.manual_seed(0)
    frame = make_frame(1500)
    train_set, test_set = EnergyDataset(frame[:1200]), EnergyDataset(frame[1200:])
    loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.MSELoss()

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for features, target in loader:
            output = model(features)
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(target)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: train mse {total / len(train_set):.4f}")

    model.eval()
    with torch.no_grad():
        pred = model(test_set.features).flatten()
    r2 = 1 - ((pred - test_set.target) ** 2).sum() / ((test_set.target - test_set.target.mean()) ** 2).sum()
    print(f"test R2 {r2.item():.3f}")


if __name__ == "__main__":
    main(parse_args())
