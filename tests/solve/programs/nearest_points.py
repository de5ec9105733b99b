"""Each point of a cloud gathers the features of its eight nearest in another."""

import torch
from torch import nn


class NearestFeatures(nn.Module):
    def __init__(self, k=8, channels=4):
        super().__init__()
        self.k = k
        self.lift = nn.Linear(3, channels)
        self.mix = nn.Linear(channels + 3, channels)

    def forward(self, queries, points):
        distances = torch.cdist(queries, points)
        nearest = distances.topk(self.k, dim=-1, largest=False).indices
        B, N, K = nearest.shape
        features = torch.cat([self.lift(points), points], dim=-1)
        index = nearest.reshape(B, N * K, 1).expand(-1, -1, features.shape[-1])
        gathered = features.gather(1, index).view(B, N, K, -1)
        return self.mix(gathered).amax(dim=2)
