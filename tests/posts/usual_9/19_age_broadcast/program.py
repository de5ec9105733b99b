"""Estimate the age of a person from a face crop (regression CNN)."""
from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def make_faces(n: int, seed: int) -> tuple[np.ndarray, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    age = rng.integers(5, 80, n)
    img = rng.normal(0.5, 0.1, (n, 1, 40, 40))
    stripes = np.sin(np.arange(40) * 1.3)[None, :] * (age[:, None] / 80)      # wrinkles
    img[:, 0] += 0.5 * stripes[:, None, :]
    meta = pd.DataFrame({"file": [f"face_{i:04d}.png" for i in range(n)], "age": age})
    return img.astype(np.float32), meta


class FaceAge(Dataset):
    AGE_SCALE = 100.0

    def __init__(self, images: np.ndarray, meta: pd.DataFrame):
        self.images = images
        self.age = meta["age"].to_numpy()

    def __len__(self) -> int:
        return len(self.age)

    def __getitem__(self, i: int):
        return torch.from_numpy(self.images[i]), torch.tensor(self.age[i] / self.AGE_SCALE, dtype=torch.float32)


class AgeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.backbone(x))


class Trainer:
    def __init__(self, net: nn.Module, lr: float) -> None:
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)
        self.criterion = nn.SmoothL1Loss(beta=0.1)

    def fit(self, loader: DataLoader, epochs: int) -> None:
        for epoch in range(epochs):
            self.net.train()
            running = 0.0
            for x, age in loader:
                pred = self.net(x)
                loss = self.criterion(pred, age)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                running += loss.item() * len(x)
            print(f"epoch {epoch + 1:2d}  loss {running / len(loader.dataset):.5f}")

    @torch.no_grad()
    def predict(self, loader: DataLoader) -> np.ndarray:
        self.net.eval()
        out = [self.net(x).flatten() for x, _ in loader]
        return torch.cat(out).numpy() * FaceAge.AGE_SCALE


def main() -> None:
    torch.manual_seed(0)
    train_img, train_meta = make_faces(512, 0)
    test_img, test_meta = make_faces(128, 1)
    train = DataLoader(FaceAge(train_img, train_meta), batch_size=32, shuffle=True)
    test = DataLoader(FaceAge(test_img, test_meta), batch_size=64)

    trainer = Trainer(AgeNet(), lr=2e-3)
    trainer.fit(train, epochs=10)

    test_meta["predicted"] = trainer.predict(test).round(1)
    mae = (test_meta["predicted"] - test_meta["age"]).abs().mean()
    baseline = (test_meta["age"] - train_meta["age"].mean()).abs().mean()
    print(test_meta.head(8).to_string(index=False))
    print(f"MAE {mae:.2f} years (always the mean: {baseline:.2f})")


if __name__ == "__main__":
    main()
