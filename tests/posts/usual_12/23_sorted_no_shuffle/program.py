# -*- coding: utf-8 -*-
"""
Gesture recognition from a smartwatch (accelerometer + gyroscope)
Master thesis, chapter 4 experiments
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GESTURES = ["circle", "swipe", "shake", "tap", "rotate"]
N_PER_GESTURE = 120
T = 50


def record(gesture, n, rng):
    """Simulated recordings of one gesture: (n, 6, T)."""
    t = np.linspace(0, 1, T)
    f = 2 + 1.5 * gesture
    phase = rng.uniform(0, 2 * np.pi, (n, 6, 1))
    amp = rng.uniform(0.5, 1.5, (n, 6, 1))
    return amp * np.sin(2 * np.pi * f * t + phase) + rng.normal(0, 0.4, (n, 6, T))


def load_dataset(seed=0):
    rng = np.random.default_rng(seed)
    X_train, y_train, X_test, y_test = [], [], [], []
    for label, _ in enumerate(GESTURES):
        x = record(label, N_PER_GESTURE, rng)
        X_train.append(x[:100])
        X_test.append(x[100:])
        y_train += [label] * 100
        y_test += [label] * 20
    X_train, X_test = np.concatenate(X_train), np.concatenate(X_test)
    mu = X_train.mean(axis=(0, 2), keepdims=True)
    sigma = X_train.std(axis=(0, 2), keepdims=True)
    X_train, X_test = (X_train - mu) / sigma, (X_test - mu) / sigma
    return (torch.tensor(X_train, dtype=torch.float32), torch.tensor(y_train),
            torch.tensor(X_test, dtype=torch.float32), torch.tensor(y_test))


class GestureCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(6, 32, kernel_size=9, padding=4), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(32, 48, kernel_size=7, padding=3), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        )
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(48, n_classes)

    def forward(self, x):
        return self.fc(self.drop(self.conv(x).squeeze(-1)))


def test_accuracy(model, loader):
    model.eval()
    confusion = torch.zeros(len(GESTURES), len(GESTURES), dtype=torch.long)
    with torch.no_grad():
        for x, y in loader:
            for t, p in zip(y, model(x).argmax(1)):
                confusion[t, p] += 1
    return confusion.diag().sum().item() / confusion.sum().item(), confusion


if __name__ == "__main__":
    torch.manual_seed(0)
    X_train, y_train, X_test, y_test = load_dataset()
    print("train", tuple(X_train.shape), "test", tuple(X_test.shape))
    train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=20)
    test_loader = DataLoader(TensorDataset(X_test, y_test), batch_size=20)

    model = GestureCNN(len(GESTURES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(8):
        model.train()
        epoch_loss = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() * len(y)
        acc, confusion = test_accuracy(model, test_loader)
        print(f"epoch {epoch + 1}: loss {epoch_loss / len(X_train):.3f}  test acc {acc:.2f}")
    print(confusion)
