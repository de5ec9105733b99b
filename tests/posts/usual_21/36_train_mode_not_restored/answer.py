import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def load_customers(n=1000):
    rng = np.random.default_rng(8)
    df = pd.DataFrame({
        "age": rng.integers(18, 80, n),
        "income": rng.lognormal(10, 0.4, n),
        "balance": rng.normal(1000, 400, n),
        "products": rng.integers(1, 5, n),
        "tenure": rng.integers(0, 10, n),
    })
    score = 0.04 * (df["age"] - 45) - 0.5 * (df["products"] - 2) + rng.normal(0, 1, n)
    df["default"] = (score > 0).astype(int)
    return df


def validate(model, loader, criterion):
    model.eval()
    total, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            total += criterion(logits, y).item() * len(y)
            correct += (logits.argmax(dim=1) == y).sum().item()
            count += len(y)
    return total / count, correct / count


def to_loader(X, y, shuffle):
    ds = TensorDataset(
        torch.tensor(X.to_numpy(), dtype=torch.float32),
        torch.tensor(y.to_numpy(), dtype=torch.long),
    )
    return DataLoader(ds, batch_size=50, shuffle=shuffle)


df = load_customers()
X, y = df.drop(columns="default"), df["default"]
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=0)
mean, std = X_train.mean(), X_train.std()
train_loader = to_loader((X_train - mean) / std, y_train, shuffle=True)
val_loader = to_loader((X_val - mean) / std, y_val, shuffle=False)

model = nn.Sequential(
    nn.Linear(5, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.4),
    nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.4),
    nn.Linear(128, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    model.train()
    train_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * len(yb)
    val_loss, val_acc = validate(model, val_loader, criterion)
    print(f"epoch {epoch}: train {train_loss / 800:.4f} val {val_loss:.4f} acc {val_acc:.3f}")
