import torch
from torch import nn


def knn(x, k):
    dist = torch.cdist(x, x)
    return dist.topk(k, dim=-1, largest=False).indices


class EdgeConv(nn.Module):
    def __init__(self, cin, cout, k=32):
        super().__init__()
        self.k = k
        self.mlp = nn.Sequential(nn.Linear(2 * cin, cout), nn.LeakyReLU(0.2))

    def forward(self, x):
        B, N, C = x.shape
        idx = knn(x, self.k)
        batch = torch.arange(B, device=x.device).view(B, 1, 1)
        nbrs = x[batch, idx]
        center = x.unsqueeze(2).expand(-1, -1, self.k, -1)
        edge = torch.cat([center, nbrs - center], dim=-1)
        return self.mlp(edge).amax(dim=2)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.edge = EdgeConv(3, 32)

    def forward(self, clouds):
        return self.edge(clouds)


def example_inputs():
    return (torch.randn(1, 3, 24, 3),)
