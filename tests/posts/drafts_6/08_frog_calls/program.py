import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SPECIES = ["tree frog", "natterjack toad", "marsh frog", "midwife toad"]


@dataclass
class Config:
    sample_rate: int = 4000
    seconds: float = 1.0
    n_fft: int = 256
    hop: int = 64
    batch_size: int = 16
    epochs: int = 4
    lr: float = 2e-3
    seed: int = 0


class FrogCalls(Dataset):
    PITCH = [900, 1400, 600, 1250]
    PULSES = [8, 30, 5, 2]

    def __init__(self, cfg, n, seed):
        self.cfg = cfg
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(int(cfg.sample_rate * cfg.seconds)) / cfg.sample_rate
        self.waves, self.labels = [], []
        for _ in range(n):
            k = int(torch.randint(0, len(SPECIES), (1,), generator=g))
            pitch = self.PITCH[k] + 60 * torch.randn(1, generator=g)
            envelope = (torch.sin(2 * math.pi * self.PULSES[k] * t) > 0).float()
            wave = envelope * torch.sin(2 * math.pi * pitch * t)
            self.waves.append(wave + 0.4 * torch.randn(len(t), generator=g))
            self.labels.append(k)

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, i):
        return self.waves[i], self.labels[i]


class Spectrogram(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.register_buffer("window", torch.hann_window(cfg.n_fft))

    def forward(self, wave):
        spec = torch.stft(wave, self.cfg.n_fft, hop_length=self.cfg.hop, window=self.window)
        return torch.log1p(spec.pow(2).sum(-1))


class CallNet(nn.Module):
    def __init__(self, cfg, n_classes):
        super().__init__()
        self.spectrogram = Spectrogram(cfg)
        self.conv1 = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2))
        self.conv2 = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(32 * 32, n_classes)

    def forward(self, wave):
        x = self.spectrogram(wave)
        x = self.conv2(self.conv1(x))
        x = x.mean(dim=-1).flatten(1)
        return self.head(x)


def train_epoch(model, loader, loss_fn, opt):
    model.train()
    total = 0.0
    for wave, label in loader:
        opt.zero_grad()
        loss = loss_fn(model(wave), label)
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    correct = 0
    for wave, label in loader:
        correct += (model(wave).argmax(dim=1) == label).sum().item()
    return correct / len(loader)


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    train_loader = DataLoader(FrogCalls(cfg, 240, seed=1), cfg.batch_size, shuffle=True)
    test_loader = DataLoader(FrogCalls(cfg, 80, seed=2), cfg.batch_size)

    model = CallNet(cfg, len(SPECIES))
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        loss = train_epoch(model, train_loader, loss_fn, opt)
        print(f"epoch {epoch + 1}: loss {loss:.3f}, test accuracy {accuracy(model, test_loader):.3f}")
