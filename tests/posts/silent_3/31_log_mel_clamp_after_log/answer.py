import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SR, N_FFT, HOP, N_BANDS = 4000, 256, 128, 32


class Chirps(Dataset):
    """Rising, falling, steady and trembling tones in weak noise."""

    def __init__(self, n, seed):
        g = np.random.default_rng(seed)
        t = np.arange(SR // 2) / SR
        self.items = []
        for _ in range(n):
            label = int(g.integers(4))
            f0 = g.uniform(500, 1100)
            sweep = [400 * t, -400 * t, 0 * t, 60 * np.sin(2 * np.pi * 9 * t)][label]
            wave = g.uniform(0.05, 0.5) * np.sin(2 * np.pi * np.cumsum(f0 + sweep) / SR + g.uniform(0, 6))
            wave = wave + g.normal(0, 0.02, len(t))
            self.items.append((torch.tensor(wave, dtype=torch.float32), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class LogBands(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(N_FFT))
        n_bins = N_FFT // 2 + 1
        centres = torch.linspace(0, n_bins - 1, N_BANDS + 2)
        bins = torch.arange(n_bins).float()
        width = centres[1] - centres[0]
        fb = (1 - (bins[None] - centres[1:-1, None]).abs() / width).clamp(min=0)
        self.register_buffer("fb", fb)

    def forward(self, wave):
        spec = torch.stft(wave, N_FFT, HOP, window=self.window, return_complex=True).abs() ** 2
        bands = torch.einsum("mf,bft->bmt", self.fb, spec / N_FFT)
        return torch.log(bands.clamp(min=1e-5))


class ToneNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.frontend = LogBands()
        self.norm = nn.BatchNorm2d(1)
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d((1, 2)), nn.Flatten(),
        )
        self.out = nn.Linear(64, n_classes)

    def forward(self, wave):
        x = self.norm(self.frontend(wave).unsqueeze(1))
        return self.out(self.conv(x))


torch.manual_seed(0)
train_loader = DataLoader(Chirps(800, seed=1), batch_size=32, shuffle=True)
test_loader = DataLoader(Chirps(240, seed=2), batch_size=60)
model = ToneNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(10):
    model.train()
    total = 0.0
    for wave, label in train_loader:
        loss = criterion(model(wave), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        hits = sum((model(w).argmax(1) == y).sum().item() for w, y in test_loader)
    print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}  test acc {hits / 240:.3f} (chance {1 / 4:.2f})")
