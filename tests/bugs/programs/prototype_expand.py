"""Few-shot classification by distances to class prototypes."""
import torch
from torch import nn


def euclidean(query, prototypes):
    n_query, n_way = query.size(0), prototypes.size(0)
    q = query.unsqueeze(1).expand(n_query, n_way, -1)
    p = prototypes.unsqueeze(-1).expand(n_query, n_way, -1)
    return (q - p).pow(2).sum(dim=-1)


class Model(nn.Module):
    def __init__(self, n_way=5, k_shot=2, dim=32):
        super().__init__()
        self.n_way, self.k_shot = n_way, k_shot
        self.embed = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, dim, 3, stride=2)
        )

    def features(self, images):
        return self.embed(images).amax(dim=(2, 3))

    def forward(self, support, query):
        s = self.features(support).view(self.n_way, self.k_shot, -1)
        prototypes = s.mean(dim=1)
        return -euclidean(self.features(query), prototypes)


def example_inputs():
    return torch.rand(10, 1, 20, 20), torch.rand(15, 1, 20, 20)
