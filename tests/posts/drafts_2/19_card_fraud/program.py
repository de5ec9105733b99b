import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight
from torch.utils.data import Dataset, DataLoader


def load_transactions(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    fraud = (rng.random(n) < 0.08).astype(int)
    df = pd.DataFrame({
        "amount": rng.lognormal(3, 1, n) * (1 + 3 * fraud),
        "hour": rng.integers(0, 24, n),
        "distance_km": rng.exponential(10, n) * (1 + 4 * fraud),
        "channel": rng.choice(["web", "shop", "atm"], n),
        "is_fraud": fraud,
    })
    return df


def prepare(df):
    df = df.copy()
    df["amount"] = np.log1p(df["amount"])
    df["distance_km"] = np.log1p(df["distance_km"])
    df["hour"] = df["hour"] / 23.0
    df = pd.get_dummies(df, columns=["channel"])
    X = df.drop(columns="is_fraud").values
    y = df["is_fraud"].values
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)


class TransactionDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.tensor(X)
        self.y = torch.tensor(y)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, idx):
        return self.X[idx], self.y[idx]


class FraudNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(32, 2),
        )

    def forward(self, x):
        return self.layers(x)


def fit(model, loader, criterion, epochs=6, lr=5e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: {total / len(loader):.4f}")


def predict(model, loader):
    model.eval()
    preds = []
    with torch.no_grad():
        for xb, _ in loader:
            preds.append(model(xb).argmax(dim=1))
    return torch.cat(preds).numpy()


def main():
    torch.manual_seed(0)
    X_train, X_test, y_train, y_test = prepare(load_transactions())
    train_loader = DataLoader(TransactionDataset(X_train, y_train), batch_size=64, shuffle=True)
    test_loader = DataLoader(TransactionDataset(X_test, y_test), batch_size=256)

    weights = compute_class_weight("balanced", classes=np.unique(y_train), y=y_train)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor(weights))

    model = FraudNet(X_train.shape[1])
    fit(model, train_loader, criterion)
    print(classification_report(y_test, predict(model, test_loader), digits=3))


if __name__ == "__main__":
    main()
