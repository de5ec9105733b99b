import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(40, 32), nn.ReLU(), nn.Linear(32, dim))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


class Model(nn.Module):
    """Trains on verification pairs and triplets at once."""

    def __init__(self):
        super().__init__()
        self.embed = Embedder()
        self.pair_loss = nn.CosineEmbeddingLoss(margin=0.2)
        self.triplet = nn.TripletMarginLoss(margin=0.5)

    def forward(self, a, b, same, pool):
        za, zb = self.embed(a), self.embed(b)
        target = (2 * same - 1).unsqueeze(1)
        l_pair = self.pair_loss(za, zb, target)

        keep = same.bool()
        anchor, positive = za[keep], zb[keep]
        negative = self.embed(pool)
        l_trip = self.triplet(anchor, positive, negative)
        return l_pair, l_trip


def example_inputs():
    same = torch.tensor([1, 0, 1, 1, 0, 1, 0, 1])
    return torch.randn(8, 40), torch.randn(8, 40), same, torch.randn(12, 40)
