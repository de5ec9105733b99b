import os
import tempfile

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FEATURES = ["fixed_acidity", "volatile_acidity", "residual_sugar", "chlorides", "sulphates", "alcohol"]


def write_wine_csv(path, n=1000):
    rng = np.random.default_rng(3)
    z = rng.normal(size=(n, len(FEATURES)))
    latent = 1.0 * z[:, 5] - 0.8 * z[:, 1] + 0.5 * z[:, 4] + rng.normal(0, 0.4, n)
    quality = np.digitize(latent, [-2.2, -1.0, 0.3, 1.3, 2.4]) + 3
    scale = np.array([1.7, 0.18, 1.4, 0.05, 0.17, 1.1])
    shift = np.array([8.3, 0.53, 2.5, 0.09, 0.66, 10.4])
    frame = pd.DataFrame(z * scale + shift, columns=FEATURES)
    frame["quality"] = quality
    frame.to_csv(path, sep=";", index=False)


class WineClassifier(nn.Module):
    def __init__(self, n_features, n_classes, p=0.2):
        super().__init__()
        self.bn = nn.BatchNorm1d(n_features)
        self.fc1 = nn.Linear(n_features, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, n_classes)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        x = self.bn(x)
        x = self.dropout(torch.relu(self.fc1(x)))
        x = self.dropout(torch.relu(self.fc2(x)))
        return self.fc3(x)


def get_data(path):
    df = pd.read_csv(path, sep=";")
    print(df["quality"].value_counts().sort_index().to_dict())
    n_classes = df["quality"].nunique()
    x = torch.tensor(df[FEATURES].values, dtype=torch.float32)
    y = torch.tensor(df["quality"].values, dtype=torch.long)
    return TensorDataset(x, y), n_classes


def step(model, batch, criterion, optimizer=None):
    x, y = batch
    logits = model(x)
    loss = criterion(logits, y)
    if optimizer is not None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item() * len(y), (logits.argmax(1) == y).sum().item()


def main():
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "winequality-red.csv")
    write_wine_csv(path)
    dataset, n_classes = get_data(path)
    train_set, test_set = random_split(dataset, [800, 200])
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=100)

    model = WineClassifier(len(FEATURES), n_classes)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 11):
        model.train()
        results = [step(model, b, criterion, optimizer) for b in train_loader]
        train_loss = sum(r[0] for r in results) / len(train_set)
        model.eval()
        with torch.no_grad():
            results = [step(model, b, criterion) for b in test_loader]
        acc = sum(r[1] for r in results) / len(test_set)
        print(f"epoch {epoch:2d}  loss {train_loss:.4f}  test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
