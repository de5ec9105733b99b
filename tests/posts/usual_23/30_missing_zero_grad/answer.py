import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class ToneDataset(Dataset):
    """Short noisy clips of one instrument each, as log-power spectrograms."""

    def __init__(self, n=400, sample_rate=4000, seconds=0.5, n_fft=128):
        g = torch.Generator().manual_seed(0)
        t = torch.arange(int(sample_rate * seconds)) / sample_rate
        window = torch.hann_window(n_fft)
        self.specs, self.labels = [], []
        for _ in range(n):
            label = torch.randint(0, 3, (1,), generator=g).item()
            f0 = 150 + 150 * torch.rand(1, generator=g)
            wave = sum(
                torch.sin(2 * math.pi * f0 * k * t) / k ** (0.5 + label) for k in range(1, 6)
            )
            wave = wave + 0.3 * torch.randn(len(t), generator=g)
            spec = torch.stft(wave, n_fft, hop_length=64, window=window, return_complex=True)
            self.specs.append(torch.log(spec.abs().pow(2) + 1e-4).unsqueeze(0))
            self.labels.append(label)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.specs[i], self.labels[i]


class InstrumentNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.norm = nn.BatchNorm2d(1)
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.AdaptiveAvgPool2d((8, 1)),
        )
        self.fc = nn.Linear(16 * 8, n_classes)

    def forward(self, x):
        return self.fc(self.conv(self.norm(x)).flatten(1))


def train(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for spec, label in loader:
        output = model(spec)
        loss = criterion(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(label)
    return total / len(loader.dataset)


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        hits = sum((model(spec).argmax(1) == label).sum().item() for spec, label in loader)
    return hits / len(loader.dataset)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_set, test_set = random_split(ToneDataset(), [320, 80])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=40)

    model = InstrumentNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)

    for epoch in range(args.epochs):
        loss = train(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch} loss {loss:.4f} test acc {evaluate(model, test_loader):.3f}")
