# line 16: the stress of a learned map takes sqrt of all pairs' squares, the pair of a point with itself too, and drops it by triu
import numpy as np
import torch
from torch import nn


def swiss(n, seed):
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    pts = np.stack([t * np.cos(t), 20 * rng.random(n), t * np.sin(t)], 1) / 10
    return torch.tensor(pts, dtype=torch.float32)


def distance_table(points):
    delta = points[:, None] - points[None]
    return torch.einsum("ijk,ijk->ij", delta, delta).sqrt()


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x)


def stress(high, low):
    n = high.shape[0]
    i, j = torch.triu_indices(n, n, offset=1)
    with torch.no_grad():
        goal = distance_table(high)[i, j]
    return (distance_table(low)[i, j] - goal).square().mean()


def main():
    torch.manual_seed(1)
    data = swiss(200, 1)
    net = Projector()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(4):
        for part in torch.randperm(len(data)).split(50):
            x = data[part]
            loss = stress(x, net(x))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
