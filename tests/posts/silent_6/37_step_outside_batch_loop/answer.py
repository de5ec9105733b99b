import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Instruments(Dataset):
    """Short notes with different overtone profiles, as log power spectra."""

    profiles = {
        "flute": [1.0, 0.2, 0.05, 0.0],
        "clarinet": [1.0, 0.05, 0.7, 0.05],
        "violin": [0.8, 0.7, 0.6, 0.5],
        "bell": [0.3, 0.1, 0.9, 0.9],
    }

    def __init__(self, n, seed, rate=8000, samples=1024):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(samples) / rate
        self.y = torch.randint(0, len(self.profiles), (n,), generator=g)
        table = torch.tensor(list(self.profiles.values()))
        pitch = 250 + 250 * torch.rand(n, 1, generator=g)
        waves = 0.3 * torch.randn(n, samples, generator=g)
        for h in range(4):
            phase = 2 * math.pi * torch.rand(n, 1, generator=g)
            waves += table[self.y, h:h + 1] * torch.sin(2 * math.pi * (h + 1) * pitch * t + phase)
        spectrum = torch.fft.rfft(waves * torch.hann_window(samples)).abs()[:, :400]
        self.x = torch.log1p(spectrum) - 2.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build_network():
    return nn.Sequential(
        nn.Unflatten(1, (1, 400)),
        nn.Conv1d(1, 8, 9, stride=2), nn.ReLU(),
        nn.Conv1d(8, 16, 9, stride=2), nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 94, 64), nn.ReLU(),
        nn.Linear(64, 4),
    )


torch.manual_seed(37)
train_data = Instruments(1200, seed=0)
valid_data = Instruments(300, seed=1)
train_loader = DataLoader(train_data, batch_size=40, shuffle=True)
valid_loader = DataLoader(valid_data, batch_size=100)
network = build_network()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

for epoch in range(8):
    network.train()
    epoch_loss = 0.0
    for spectra, notes in train_loader:
        optimizer.zero_grad()
        scores = network(spectra)
        loss = criterion(scores, notes)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()

    network.eval()
    correct = 0
    with torch.no_grad():
        for spectra, notes in valid_loader:
            correct += (network(spectra).argmax(dim=1) == notes).sum().item()
    print(
        f"epoch {epoch + 1}: train loss {epoch_loss / len(train_loader):.4f}, "
        f"valid acc {correct / len(valid_data):.3f}"
    )
