"""Fruit sorting line. `python fruit.py` trains the net and then runs the camera loop on simulated frames."""
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ("ripe", "unripe", "rotten")
MEAN = torch.tensor([0.45, 0.40, 0.30]).view(3, 1, 1)
STD = torch.tensor([0.25, 0.25, 0.25]).view(3, 1, 1)
WEIGHTS = Path("fruit_net.pth")


class Camera:
    """Stands in for cv2.VideoCapture: frames are uint8, height x width x RGB."""

    colours = np.array([[200, 60, 40], [110, 170, 50], [95, 75, 45]])

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def read(self, kind=None):
        kind = int(self.rng.integers(3)) if kind is None else kind
        frame = self.rng.normal(70, 12, size=(64, 64, 3))
        cy, cx = self.rng.integers(24, 40, 2)
        r = self.rng.integers(14, 22)
        yy, xx = np.mgrid[:64, :64]
        disc = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
        frame[disc] = self.colours[kind] + self.rng.normal(0, 25, 3) + self.rng.normal(0, 15, (disc.sum(), 3))
        return frame.clip(0, 255).astype(np.uint8), kind


class FruitDataset(Dataset):
    def __init__(self, n, seed, augment):
        cam = Camera(seed)
        self.samples = [cam.read(i % 3) for i in range(n)]
        self.augment = augment

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        frame, kind = self.samples[i]
        x = torch.from_numpy(frame).permute(2, 0, 1).float().div(255)
        if self.augment and torch.rand(1).item() < 0.5:
            x = x.flip(2)
        return (x - MEAN) / STD, kind


def conv(i, o):
    return [nn.Conv2d(i, o, 3, stride=2, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True)]


class FruitNet(nn.Sequential):
    def __init__(self):
        super().__init__(*conv(3, 16), *conv(16, 32), *conv(32, 32), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                         nn.Dropout(0.2), nn.Linear(128, len(CLASSES)))


def train():
    torch.manual_seed(6)
    train_dl = DataLoader(FruitDataset(300, 1, augment=True), batch_size=30, shuffle=True)
    val_dl = DataLoader(FruitDataset(90, 2, augment=False), batch_size=30)
    net, loss_fn = FruitNet(), nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(4):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            loss = loss_fn(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in val_dl)
        print(f"epoch {epoch}: val acc {right / len(val_dl.dataset):.3f}")
    torch.save(net.state_dict(), WEIGHTS)


def preprocess(frame):
    x = torch.from_numpy(np.ascontiguousarray(frame)).permute(2, 0, 1).float()
    x = (x - MEAN) / STD
    return x.unsqueeze(0)


@torch.no_grad()
def run_line(n_frames=90):
    net = FruitNet()
    net.load_state_dict(torch.load(WEIGHTS))
    net.eval()
    cam = Camera(3)
    hits, counts = 0, dict.fromkeys(CLASSES, 0)
    t0 = time.perf_counter()
    for _ in range(n_frames):
        frame, kind = cam.read()
        k = net(preprocess(frame)).argmax(1).item()
        counts[CLASSES[k]] += 1
        hits += k == kind
    fps = n_frames / (time.perf_counter() - t0)
    print(f"sorted {counts}, agreement with the operator {hits / n_frames:.2f}, {'ok' if fps > 10 else 'slow'}")


if __name__ == "__main__":
    train()
    run_line()
    WEIGHTS.unlink()
