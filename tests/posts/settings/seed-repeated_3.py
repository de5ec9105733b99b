# line 14: np.random.seed at the start of each pass gives the same order and the same noise in every epoch
import numpy as np
import torch
from torch import nn

SEED = 1234


class BatchSource:
    def __init__(self, x, y, batch):
        self.x, self.y, self.batch = x, y, batch

    def __iter__(self):
        np.random.seed(SEED)
        order = np.random.permutation(len(self.x))
        for i in range(0, len(order), self.batch):
            rows = order[i : i + self.batch]
            noisy = self.x[rows] + np.random.normal(0, 0.3, size=self.x[rows].shape)
            yield torch.tensor(noisy, dtype=torch.float32), torch.from_numpy(self.y[rows])


class SpectraNet(nn.Module):
    def __init__(self, channels=50, minerals=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(channels, 40), nn.ReLU(), nn.Dropout(0.2), nn.Linear(40, minerals))

    def forward(self, x):
        return self.layers(x)


def spectra(n, rng):
    mineral = rng.integers(0, 4, n)
    wavelength = np.linspace(0, 1, 50)
    centre = 0.2 + 0.2 * mineral[:, None] + 0.03 * rng.normal(size=(n, 1))
    return np.exp(-((wavelength - centre) ** 2) / 0.01) + 0.1 * rng.normal(size=(n, 50)), mineral


rng = np.random.default_rng(0)
torch.manual_seed(SEED)
source = BatchSource(*spectra(300, rng), batch=30)
net = SpectraNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(6):
    net.train()
    losses = []
    for x, mineral in source:
        loss = nn.functional.cross_entropy(net(x), mineral)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print("epoch", epoch, "loss", np.mean(losses))
