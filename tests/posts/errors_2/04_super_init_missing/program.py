import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SineDataset(Dataset):
    def __init__(self, n, window):
        t = np.linspace(0, 60, n + window)
        wave = np.sin(t) + 0.1 * np.random.default_rng(0).normal(size=t.shape)
        self.wave = wave.astype(np.float32)
        self.window = window

    def __len__(self):
        return len(self.wave) - self.window

    def __getitem__(self, i):
        x = self.wave[i : i + self.window]
        y = self.wave[i + self.window]
        return torch.from_numpy(x), torch.tensor([y])


class Forecaster(nn.Module):
    def __init__(self, window, hidden, layers=2):
        self.window = window
        blocks = []
        size = window
        for _ in range(layers):
            blocks += [nn.Linear(size, hidden), nn.ReLU()]
            size = hidden
        self.body = nn.Sequential(*blocks)
        self.out = nn.Linear(size, 1)

    def forward(self, x):
        return self.out(self.body(x))


window = 24
loader = DataLoader(SineDataset(600, window), batch_size=32, shuffle=True)
model = Forecaster(window, hidden=32)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(5):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    print(f"epoch {epoch} mse {total / len(loader.dataset):.4f}")
