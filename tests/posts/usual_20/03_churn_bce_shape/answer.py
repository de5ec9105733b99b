import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def make_data(n):
    rng = np.random.default_rng(7)
    df = pd.DataFrame(rng.normal(size=(n, 10)), columns=[f"f{i}" for i in range(10)])
    df["churn"] = (df["f0"] - 0.5 * df["f3"] + rng.normal(scale=0.5, size=n) > 0).astype(int)
    return df


class ChurnDataset(Dataset):
    def __init__(self, df):
        self.x = torch.tensor(df.drop(columns="churn").values, dtype=torch.float32)
        self.y = torch.tensor(df["churn"].values, dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ChurnModel(nn.Module):
    def __init__(self, n_features, hidden):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(ChurnDataset(make_data(1024)), batch_size=args.batch_size, shuffle=True)
    model = ChurnModel(10, args.hidden)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        correct, seen, total_loss = 0, 0, 0.0
        for features, target in loader:
            optimizer.zero_grad()
            logits = model(features)
            loss = criterion(logits, target)
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
            correct += ((logits > 0).float() == target).sum().item()
            seen += len(target)
        print(f"epoch {epoch}: loss {total_loss / len(loader):.4f} acc {correct / seen:.3f}")


if __name__ == "__main__":
    main()
