"""PointNet-like classifier for LiDAR clusters: pole, wall, ball, car-like box."""
from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

KINDS = ("pole", "wall", "ball", "box")
N_POINTS = 128


def sample_shape(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    if kind == "pole":
        ang = rng.uniform(0, 2 * np.pi, n)
        pts = np.stack([0.1 * np.cos(ang), 0.1 * np.sin(ang), rng.uniform(-1, 1, n)], axis=1)
    elif kind == "wall":
        pts = np.stack([rng.uniform(-1, 1, n), np.zeros(n), rng.uniform(-1, 1, n)], axis=1)
    elif kind == "ball":
        v = rng.normal(size=(n, 3))
        pts = v / np.linalg.norm(v, axis=1, keepdims=True)
    else:
        pts = rng.uniform(-1, 1, (n, 3)) * np.array([1.0, 0.5, 0.4])
        side = rng.integers(0, 3, n)
        pts[np.arange(n), side] = np.sign(pts[np.arange(n), side]) * np.array([1.0, 0.5, 0.4])[side]
    a = rng.uniform(0, 2 * np.pi)
    rot = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    return pts @ rot.T + rng.normal(0, 0.02, (n, 3))


class Clusters(Dataset):
    def __init__(self, n: int, seed: int):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, len(KINDS), n)
        self.x = [sample_shape(KINDS[k], rng, int(rng.integers(100, 300))) for k in self.y]
        self.rng = np.random.default_rng(seed + 1)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i: int):
        pts = self.x[i]
        keep = self.rng.choice(len(pts), N_POINTS, replace=len(pts) < N_POINTS)
        pts = pts[keep]
        pts = pts - pts.mean(axis=0)
        pts = pts / np.linalg.norm(pts, axis=1).max()
        return torch.tensor(pts, dtype=torch.float32), int(self.y[i])


class SharedMLP(nn.Module):
    """The same small network for every point."""

    def __init__(self, widths: list[int]):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(b) for b in widths[1:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for linear, norm in zip(self.linears, self.norms):
            x = torch.relu(norm(linear(x).transpose(1, 2)).transpose(1, 2))
        return x


class PointNet(nn.Module):
    def __init__(self, n_classes: int):
        super().__init__()
        self.local = SharedMLP([3, 32, 64, 256])
        self.head = nn.Sequential(nn.Linear(256, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3),
                                  nn.Linear(64, n_classes))

    def forward(self, pts: torch.Tensor) -> torch.Tensor:
        features = self.local(pts)
        pooled = features.max(dim=1).values
        return self.head(pooled)


def main() -> None:
    torch.manual_seed(0)
    train = DataLoader(Clusters(400, 0), batch_size=32, shuffle=True, drop_last=True)
    test = DataLoader(Clusters(120, 10), batch_size=40)
    model = PointNet(len(KINDS))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(4):
        model.train()
        for pts, y in train:
            loss = loss_fn(model(pts), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(pts).argmax(1) == y).sum().item() for pts, y in test)
        print(f"epoch {epoch}: loss {loss.item():.3f}, test accuracy {hits / len(test.dataset):.3f}")


if __name__ == "__main__":
    main()
