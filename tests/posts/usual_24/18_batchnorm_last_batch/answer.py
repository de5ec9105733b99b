import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

IMG = 64


def make_annotations(n, seed=0):
    rng = np.random.default_rng(seed)
    x1 = rng.integers(0, 30, n)
    y1 = rng.integers(0, 30, n)
    return pd.DataFrame({
        "xmin": x1,
        "ymin": y1,
        "xmax": x1 + rng.integers(12, 33, n),
        "ymax": y1 + rng.integers(12, 33, n),
    })


class LicensePlates(Dataset):
    def __init__(self, annotations, seed=0):
        self.boxes = annotations[["xmin", "ymin", "xmax", "ymax"]].to_numpy(copy=True)
        self.rng = np.random.default_rng(seed)
        self.images = [self._render(b) for b in self.boxes]

    def _render(self, box):
        image = (0.4 * self.rng.random((3, IMG, IMG))).astype(np.float32)
        x1, y1, x2, y2 = box
        image[:, y1:y2, x1:x2] += 0.5
        return image

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, i):
        box = torch.tensor(self.boxes[i], dtype=torch.float32) / IMG
        return torch.from_numpy(self.images[i]), box


class BoxRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * 8 * 8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4), nn.Sigmoid()
        )

    def forward(self, x):
        return self.head(self.backbone(x))


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(LicensePlates(make_annotations(257)), batch_size=32, shuffle=True, drop_last=True)
    model = BoxRegressor()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(4):
        model.train()
        total, seen = 0.0, 0
        for images, boxes in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), boxes)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(boxes)
            seen += len(boxes)
        print(f"epoch {epoch}: box mse {total / seen:.4f}")


if __name__ == "__main__":
    main()
