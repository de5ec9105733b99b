import argparse

import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Dataset

NUMERIC = ["area", "depth", "ph", "distance_road"]


def read_survey(n=400, seed=0):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "area": rng.lognormal(5, 0.8, n),
        "depth": rng.uniform(0.2, 2.5, n),
        "ph": rng.normal(7, 0.6, n),
        "distance_road": rng.exponential(300, n),
        "fish": rng.choice(["none", "few", "many"], n),
        "shade": rng.choice(["open", "half", "full"], n),
    })
    fish = df["fish"].map({"none": 1.5, "few": 0.0, "many": -1.5})
    shade = df["shade"].map({"open": 0.7, "half": 0.0, "full": -0.7})
    score = fish + shade + 0.8 * (df["depth"] - 1.2) + 0.6 * (df["ph"] - 7) + rng.normal(0, 1.2, n)
    df["newts"] = (score > 0).astype(int)
    return df


class PondDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.tensor(X.values, dtype=torch.float32)
        self.y = y.values

    def __len__(self):
        return len(self.X)

    def __getitem__(self, idx):
        return self.X[idx], self.y[idx]


class PondNet(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


def run(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, right = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for xb, yb in loader:
            logits = model(xb)
            loss = criterion(logits, yb.float())
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(xb)
            right += ((logits > 0) == (yb == 1)).sum().item()
    return total / len(loader.dataset), right / len(loader.dataset)


def main(args):
    torch.manual_seed(args.seed)
    df = read_survey()
    X = pd.get_dummies(df.drop(columns="newts"), columns=["fish", "shade"], dtype=float)
    X_train, X_val, y_train, y_val = train_test_split(X, df["newts"], test_size=0.3, random_state=args.seed)

    scaler = StandardScaler()
    X_train[NUMERIC] = scaler.fit_transform(X_train[NUMERIC])
    X_val[NUMERIC] = scaler.transform(X_val[NUMERIC])

    train_loader = DataLoader(PondDataset(X_train, y_train), batch_size=32, shuffle=True)
    val_loader = DataLoader(PondDataset(X_val, y_val), batch_size=64)

    model = PondNet(X.shape[1], args.hidden)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    best_loss, best_weights, waited = float("inf"), None, 0
    for epoch in range(args.epochs):
        train_loss, _ = run(model, train_loader, criterion, optimizer)
        val_loss, val_acc = run(model, val_loader, criterion)
        print(f"epoch {epoch + 1:2d} train {train_loss:.3f} val {val_loss:.3f} acc {val_acc:.3f}")
        if val_loss < best_loss:
            best_loss, waited = val_loss, 0
            best_weights = {k: v.clone() for k, v in model.state_dict().items()}
        else:
            waited += 1
            if waited >= args.patience:
                break

    model.load_state_dict(best_weights)
    loss, acc = run(model, val_loader, criterion)
    print(f"best model: val loss {loss:.3f} acc {acc:.3f} (best seen {best_loss:.3f})")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--patience", type=int, default=6)
    p.add_argument("--seed", type=int, default=1)
    main(p.parse_args())
