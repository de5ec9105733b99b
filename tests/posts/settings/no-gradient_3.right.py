# line 16: the envelope of the learned filters is taken with scipy on detached numbers, so the filters get no gradient
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.ndimage import uniform_filter1d


class FilterBank(nn.Module):
    def __init__(self, filters=8, size=15):
        super().__init__()
        self.conv = nn.Conv1d(1, filters, size, padding=size // 2, bias=False)

    def forward(self, wave):
        energy = self.conv(wave).square()
        return F.avg_pool1d(energy, 9, stride=1, padding=4)


class BirdNet(nn.Module):
    def __init__(self, filters=8, species=3):
        super().__init__()
        self.bank = FilterBank(filters)
        self.classify = nn.Sequential(nn.Linear(filters, 16), nn.ReLU(), nn.Linear(16, species))

    def forward(self, wave):
        return self.classify(torch.log1p(self.bank(wave)).mean(-1))


def calls(n, r):
    species = r.integers(0, 3, n)
    t = np.arange(80)
    frequency = np.array([0.25, 0.5, 0.9])[species][:, None]
    wave = np.sin(frequency * t + 6.28 * r.random((n, 1))) + 0.5 * r.normal(size=(n, 80))
    return torch.tensor(wave[:, None], dtype=torch.float32), torch.tensor(species)


r = np.random.default_rng(1)
torch.manual_seed(1)
net = BirdNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
wave, species = calls(400, r)
for epoch in range(8):
    net.train()
    total = 0.0
    for rows in torch.randperm(400).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(wave[rows]), species[rows])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    print(epoch, round(total / 400, 4))
net.eval()
with torch.no_grad():
    wave, species = calls(150, r)
    print("accuracy", (net(wave).argmax(1) == species).float().mean().item())
