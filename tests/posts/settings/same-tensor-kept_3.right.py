# line 18: every window is from_numpy of the one ring buffer, so all entries of the list hold the last window
import numpy as np
import torch
from torch import nn

HOP, SIZE = 16, 64


class FrameCutter:
    """Cuts a stream of samples into overlapping windows, as a sound card would deliver it."""

    def __init__(self):
        self.ring = np.zeros(SIZE, dtype=np.float32)

    def push(self, samples):
        self.ring[:-HOP] = self.ring[HOP:].copy()
        self.ring[-HOP:] = samples
        return torch.from_numpy(self.ring.copy())


def tone(kind, n, r):
    t = np.arange(n) / 64.0
    return np.sin(2 * np.pi * (4 + 4 * kind) * t + 6 * r.random()) + 0.3 * r.normal(size=n)


def windows_of(kind, r, n_windows=12):
    cutter, wave = FrameCutter(), tone(kind, HOP * (n_windows + 4), r)
    for k in range(4):
        cutter.push(wave[k * HOP : (k + 1) * HOP])
    cut = [cutter.push(wave[k * HOP : (k + 1) * HOP]) for k in range(4, n_windows + 4)]
    return torch.stack(cut), torch.full((n_windows,), kind)


def collect(recordings, seed):
    r = np.random.default_rng(seed)
    parts = [windows_of(k % 3, r) for k in range(recordings)]
    return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])


torch.manual_seed(0)
x, y = collect(45, 1)
x_test, y_test = collect(15, 2)
net = nn.Sequential(nn.Linear(SIZE, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(8):
    net.train()
    for rows in torch.randperm(len(x)).split(36):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        opt.step()
net.eval()
with torch.no_grad():
    print("windows", len(torch.unique(x, dim=0)), "accuracy", (net(x_test).argmax(1) == y_test).float().mean().item())
