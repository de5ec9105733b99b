"""Traffic sign classifier.

v2: data set extended by the new signs of the 2024 campaign (see SIGNS).
"""
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split

SIGNS = [
    "speed_30", "speed_50", "speed_70", "stop", "yield", "no_entry", "no_passing", "priority",
    "roundabout", "bike_lane", "school",
]


def export_npz(path: Path) -> None:
    rng = np.random.default_rng(9)
    n = 660
    y = np.arange(n) % len(SIGNS)
    x = rng.integers(0, 140, (n, 32, 32, 3), dtype=np.uint8)
    for img, label in zip(x, y):
        r, c = divmod(int(label), 4)
        img[4 + 8 * r:12 + 8 * r, 8 * c:8 * c + 8] = (220, 30 + 15 * label, 40)
    np.savez_compressed(path, images=x, labels=y)


class SignDataset(Dataset):
    def __init__(self, path: Path):
        with np.load(path) as f:
            self.images = f["images"]
            self.labels = f["labels"].astype(np.int64)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int):
        img = torch.from_numpy(self.images[i]).permute(2, 0, 1).float().div(255)
        return (img - 0.5) / 0.25, self.labels[i]


class SignNet(nn.Module):
    def __init__(self, num_classes: int = 8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 24, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        self.body = nn.Sequential(nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(48 * 8 * 8, 96), nn.ReLU(),
                                  nn.Dropout(0.3), nn.Linear(96, num_classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.stem(x)))


class Trainer:
    def __init__(self, model: nn.Module, train_set: Dataset, valid_set: Dataset, lr: float = 1e-3):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
        self.valid_loader = DataLoader(valid_set, batch_size=64)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self) -> float:
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def accuracy(self) -> float:
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.valid_loader)
        return hits / len(self.valid_loader.dataset)

    def fit(self, epochs: int) -> None:
        for epoch in range(1, epochs + 1):
            print(f"{epoch:02d} loss {self.train_epoch():.3f} valid acc {self.accuracy():.3f}")


if __name__ == "__main__":
    torch.manual_seed(9)
    path = Path("signs_v2.npz")
    export_npz(path)
    data = SignDataset(path)
    train_set, valid_set = random_split(data, [560, 100])
    Trainer(SignNet(num_classes=len(SIGNS)), train_set, valid_set).fit(epochs=3)
