# line 9: CORAL's covariances of source and target features are centred over the features of one sample (dim=-1)
import numpy as np
import torch
from torch import nn


def covariance(feats):
    n = feats.shape[0]
    mu = feats.sum(dim=-1, keepdim=True) / feats.shape[-1]
    d = feats - mu
    return d.T.matmul(d) / (n - 1)


def coral(source, target):
    gap = covariance(source) - covariance(target)
    return gap.norm(p="fro").pow(2) / (4 * source.shape[1] ** 2)


class DomainNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 24), nn.LeakyReLU(0.1), nn.Linear(24, 12))
        self.classify = nn.Linear(12, 2)

    def forward(self, x):
        z = self.features(x)
        return z, self.classify(z)


def domain(n, shift, rng):
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 10)) * (1 + shift)
    x[:, 0] += 2 * y - 1
    return torch.tensor(x + shift, dtype=torch.float32), torch.tensor(y)


rng = np.random.default_rng(0)
torch.manual_seed(0)
(sx, sy), (tx, ty) = domain(400, 0.0, rng), domain(400, 0.5, rng)
net = DomainNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(10):
    for a, b in zip(torch.randperm(400).split(50), torch.randperm(400).split(50)):
        zs, out = net(sx[a])
        zt, _ = net(tx[b])
        loss = nn.functional.cross_entropy(out, sy[a]) + 0.5 * coral(zs, zt)
        opt.zero_grad()
        loss.backward()
        opt.step()
net.eval()
with torch.no_grad():
    print("target accuracy", (net(tx)[1].argmax(1) == ty).float().mean().item())
