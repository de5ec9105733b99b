"""Axial mixing network for multi-channel EEG windows (after an idea from a workshop paper)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CHANNELS, STEPS, CLASSES = 8, 40, 3


class MixerBlock(nn.Module):
    def __init__(self, channels, steps, expand=2):
        super().__init__()
        self.norm_t = nn.LayerNorm(steps)
        self.time = nn.Sequential(nn.Linear(steps, steps * expand), nn.GELU(), nn.Linear(steps * expand, steps))
        self.norm_c = nn.LayerNorm(channels)
        self.chan = nn.Sequential(nn.Linear(channels, channels * expand), nn.GELU(), nn.Linear(channels * expand, channels))

    def forward(self, x):
        x = x + self.time(self.norm_t(x))
        x = x.transpose(1, 2)
        x = x + self.chan(self.norm_c(x))
        return x.transpose(1, 2)


class EEGMixer(nn.Module):
    def __init__(self, depth=2, width=12):
        super().__init__()
        self.lift = nn.Conv1d(CHANNELS, width, kernel_size=1)
        self.blocks = nn.ModuleList(MixerBlock(width, STEPS) for _ in range(depth))
        self.importance = nn.Linear(width, 1)
        self.head = nn.Sequential(nn.Linear(width * STEPS, 48), nn.GELU(), nn.Dropout(0.2), nn.Linear(48, CLASSES))

    def forward(self, x):
        x = self.lift(x)
        for block in self.blocks:
            x = block(x)
        x = x.permute(0, 2, 1)
        x = x * torch.softmax(self.importance(x), dim=1)
        x = x.view(x.size(0), -1)
        return self.head(x)


def windows(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    t = np.linspace(0, 1, STEPS)
    freq = np.array([4, 8, 13])[y]
    phase = rng.uniform(0, 6.28, (n, CHANNELS, 1))
    x = np.sin(2 * np.pi * freq[:, None, None] * t + phase) + 0.5 * rng.standard_normal((n, CHANNELS, STEPS))
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


@torch.no_grad()
def score(model, loader):
    model.eval()
    hits = [(model(x).argmax(1) == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def train(seed):
    torch.manual_seed(seed)
    model = EEGMixer()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    train_loader = DataLoader(windows(300, 0), batch_size=30, shuffle=True)
    test_loader = DataLoader(windows(90, 1), batch_size=45)
    for epoch in range(5):
        model.train()
        for x, y in train_loader:
            x = x + 0.05 * torch.randn_like(x)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return score(model, test_loader)


results = [train(s) for s in range(2)]
print(f"accuracy over seeds: {np.mean(results):.3f} +- {np.std(results):.3f}")
