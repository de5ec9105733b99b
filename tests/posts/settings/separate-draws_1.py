# line 33: the random quarter turns of the tile and of its map are drawn separately
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Turn:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, array):
        return np.rot90(array, self.rng.integers(0, 4), axes=(-2, -1)).copy()


class Tiles(Dataset):
    def __init__(self, n, transform=None):
        rng = np.random.default_rng(n)
        self.roofs = np.zeros((n, 16, 16), dtype=np.int64)
        for k in range(n):
            y, x = rng.integers(0, 8, 2)
            self.roofs[k, y : y + 7, x : x + 5] = 1
        self.tiles = rng.normal(0, 0.3, (n, 3, 16, 16)).astype(np.float32)
        self.tiles += self.roofs[:, None].astype(np.float32)
        self.transform = transform

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, k):
        tile, roof = self.tiles[k], self.roofs[k]
        if self.transform is not None:
            tile, roof = self.transform(tile), self.transform(roof)
        return torch.from_numpy(tile), torch.from_numpy(roof)


torch.manual_seed(78)
net = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 2, 3, padding=1)
)
train = DataLoader(Tiles(64, Turn(np.random.default_rng(78))), 8, shuffle=True)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    for tile, roof in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(tile), roof)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
