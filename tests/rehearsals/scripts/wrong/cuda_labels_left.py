import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    """Spectra of stars, with the class of each."""

    def __init__(self, count=72, bins=128, classes=7):
        rng = np.random.default_rng(0)
        self.label = rng.integers(0, classes, count)
        grid = np.linspace(0, 1, bins)
        self.flux = np.exp(-((grid - self.label[:, None] / classes) ** 2) * 40)
        self.flux += rng.normal(0, 0.05, self.flux.shape)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return torch.tensor(self.flux[i], dtype=torch.float32)[None], self.label[i]


class StarNet(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 8, 7, stride=2), nn.ReLU(),
            nn.Conv1d(8, 16, 5, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.body(x))


def train(model, device, loader, optimizer, criterion, epoch):
    model.train()
    start = time.time()
    for index, (flux, label) in enumerate(loader):
        flux = flux.to(device)
        optimizer.zero_grad()
        output = model(flux)
        loss = criterion(output, label)
        loss.backward()
        optimizer.step()
        if index % 3 == 0:
            print(f"{epoch} [{index}/{len(loader)}] {loss.item():.4f}")
    print(f"took {time.time() - start:.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--no-cuda", action="store_true")
    args = parser.parse_args()
    use_cuda = torch.cuda.is_available() and not args.no_cuda
    device = torch.device("cuda" if use_cuda else "cpu")
    torch.manual_seed(0)
    options = {"num_workers": 1, "pin_memory": True} if use_cuda else {}
    loader = DataLoader(Spectra(), batch_size=12, shuffle=True, **options)
    model = StarNet().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, args.epochs + 1):
        train(model, device, loader, optimizer, criterion, epoch)


if __name__ == "__main__":
    main()
