import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split


def load_patients(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "age": rng.normal(60, 12, n),
        "bmi": rng.normal(27, 5, n),
        "glucose": rng.normal(105, 25, n),
        "pressure": rng.normal(130, 18, n),
        "smoker": rng.integers(0, 2, n),
    })
    risk = 0.06 * (df.age - 60) + 0.05 * (df.glucose - 105) + 0.9 * df.smoker - 0.5
    df["readmitted"] = (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int)
    return df


class RiskNet(nn.Module):
    def __init__(self, n_features, hidden=64, p=0.5):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


def train_epoch(model, loader, loss_fn, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()


def validate(model, loader, loss_fn):
    model.eval()
    losses, probs, targets = [], [], []
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            losses.append(loss_fn(logits, y).item() * len(y))
            probs.append(torch.sigmoid(logits))
            targets.append(y)
    auc = roc_auc_score(torch.cat(targets).numpy(), torch.cat(probs).numpy())
    return sum(losses) / len(loader.dataset), auc


def main():
    torch.manual_seed(0)
    df = load_patients()
    train_df, val_df = train_test_split(df, test_size=0.25, random_state=0, stratify=df["readmitted"])
    features = [c for c in df.columns if c != "readmitted"]
    mean, std = train_df[features].mean(), train_df[features].std()

    def to_dataset(frame):
        x = torch.tensor(((frame[features] - mean) / std).values, dtype=torch.float32)
        return TensorDataset(x, torch.tensor(frame["readmitted"].values, dtype=torch.float32))

    train_loader = DataLoader(to_dataset(train_df), batch_size=50, shuffle=True)
    val_loader = DataLoader(to_dataset(val_df), batch_size=50)
    model = RiskNet(len(features))
    loss_fn = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        train_epoch(model, train_loader, loss_fn, optimizer)
        val_loss, val_auc = validate(model, val_loader, loss_fn)
        print(f"epoch {epoch + 1:2d}  val loss {val_loss:.4f}  val AUC {val_auc:.4f}")


if __name__ == "__main__":
    main()
