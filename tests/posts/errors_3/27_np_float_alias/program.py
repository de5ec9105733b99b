import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class PointClouds(Dataset):
    """Points sampled on a sphere or on a cube, with a random scale."""

    def __init__(self, n_clouds, n_points=64, seed=0):
        rng = np.random.RandomState(seed)
        self.clouds, self.labels = [], []
        for i in range(n_clouds):
            p = rng.uniform(-1, 1, size=(n_points, 3)).astype(np.float)
            order = 2 if i % 2 == 0 else np.inf
            p /= np.linalg.norm(p, ord=order, axis=1, keepdims=True)
            self.clouds.append(p * rng.uniform(0.5, 2.0))
            self.labels.append(i % 2)

    def __len__(self):
        return len(self.clouds)

    def __getitem__(self, i):
        p = self.clouds[i]
        p = p - p.mean(axis=0)
        p = p / np.abs(p).max()
        return torch.from_numpy(p).float(), self.labels[i]


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64))
        self.head = nn.Linear(64, 2)

    def forward(self, pts):
        return self.head(self.point(pts).amax(dim=1))


torch.manual_seed(0)
net = PointNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    for pts, label in DataLoader(PointClouds(128), batch_size=32, shuffle=True):
        loss = nn.functional.cross_entropy(net(pts), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
