import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader, random_split

ELECTRODES = 14
RATE = 128
STATES = ["rest", "focus", "sleepy"]


def make_recording(minutes=4, seed=7):
    rng = np.random.default_rng(seed)
    samples = minutes * 60 * RATE
    t = np.arange(samples) / RATE
    states = rng.integers(0, len(STATES), size=samples // RATE)
    freq = np.array([10.0, 20.0, 4.0])[states].repeat(RATE)
    base = np.sin(2 * np.pi * freq * t)[:, None]
    signal = base * rng.uniform(0.5, 1.5, size=ELECTRODES) + rng.normal(0, 0.7, (samples, ELECTRODES))
    return signal.astype(np.float32), states


class EEGWindows(Dataset):
    """One-second windows of a continuous recording."""

    def __init__(self, signal, states, length=RATE):
        self.signal = (signal - signal.mean(0)) / signal.std(0)
        self.states = states
        self.length = length

    def __len__(self):
        return len(self.states)

    def __getitem__(self, i):
        start = i * self.length
        window = self.signal[start:start + self.length]
        return torch.from_numpy(window), int(self.states[i])


class ConvUnit(nn.Module):
    def __init__(self, c_in, c_out, k, pool):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, k, padding=k // 2)
        self.norm = nn.BatchNorm1d(c_out)
        self.pool = nn.MaxPool1d(pool)

    def forward(self, x):
        return self.pool(F.elu(self.norm(self.conv(x))))


class StateNet(nn.Module):
    def __init__(self, electrodes, n_states):
        super().__init__()
        self.units = nn.Sequential(
            ConvUnit(electrodes, 32, 9, 2),
            ConvUnit(32, 32, 7, 2),
            ConvUnit(32, 64, 5, 2),
        )
        self.classify = nn.Linear(64, n_states)

    def forward(self, x):
        x = self.units(x)
        return self.classify(x.mean(dim=-1))


torch.manual_seed(0)
signal, states = make_recording()
windows = EEGWindows(signal, states)
train_set, test_set = random_split(windows, [192, 48])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
test_loader = DataLoader(test_set, batch_size=16)

net = StateNet(ELECTRODES, len(STATES))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(4):
    net.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * y.size(0)
    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in test_loader:
            right += (net(x).argmax(1) == y).sum().item()
    print(f"{epoch}: train loss {total / len(train_set):.3f}  test acc {right / len(test_set):.3f}")
