import random
from typing import Dict, List

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CLASS_NAMES: List[str] = ["normal", "afib", "pvc", "noise"]


def set_seed(seed: int = 0) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def synthetic_beats(n: int, length: int = 180):
    t = np.linspace(0, 1, length)
    labels = np.random.choice(len(CLASS_NAMES), size=n, p=[0.55, 0.2, 0.15, 0.1])
    x = np.zeros((n, 1, length), dtype=np.float32)
    for i, lab in enumerate(labels):
        center = 0.5 + 0.02 * np.random.randn()
        width = {0: 0.02, 1: 0.03, 2: 0.08, 3: 0.02}[int(lab)]
        beat = np.exp(-((t - center) ** 2) / (2 * width ** 2))
        if lab == 1:
            beat += 0.2 * np.sin(2 * np.pi * 7 * t + np.random.rand() * 6)
        if lab == 3:
            beat += 0.6 * np.random.randn(length)
        x[i, 0] = beat + 0.05 * np.random.randn(length)
    return torch.from_numpy(x), torch.from_numpy(labels.astype(np.int64))


class BeatCNN(nn.Module):
    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten(),
            nn.Linear(32 * 4, n_classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


def train_one_epoch(model, loader, criterion, optimizer) -> float:
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * x.size(0)
    return running / len(loader.dataset)


@torch.no_grad()
def collect(model, loader):
    model.eval()
    all_preds, all_labels = [], []
    for x, y in loader:
        all_preds.append(model(x).argmax(dim=1))
        all_labels.append(y)
    return torch.cat(all_preds), torch.cat(all_labels)


def f1_per_class(preds: torch.Tensor, labels: torch.Tensor) -> Dict[str, float]:
    scores = {}
    for k, name in enumerate(CLASS_NAMES):
        tp = ((preds == k) & (labels == k)).sum().item()
        fp = ((preds == k) & (labels != k)).sum().item()
        fn = ((preds != k) & (labels == k)).sum().item()
        scores[name] = 2 * tp / max(2 * tp + fp + fn, 1)
    return scores


def main() -> None:
    set_seed()
    x_train, y_train = synthetic_beats(640)
    x_test, y_test = synthetic_beats(250)
    train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=64)

    model = BeatCNN(len(CLASS_NAMES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(10):
        loss = train_one_epoch(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch}: train loss {loss:.4f}")

    preds, labels = collect(model, test_loader)
    for name, f1 in f1_per_class(preds, labels).items():
        print(f"{name:>8s}  F1 {f1:.3f}")


if __name__ == "__main__":
    main()
