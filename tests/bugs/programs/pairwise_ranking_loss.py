import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """RankNet: every document against every other of the same query."""

    def __init__(self, n_features=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_features, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, docs, relevance):
        s = self.net(docs)  # (N, 1)
        diff = s - s.T
        order = torch.sign(relevance[:, None] - relevance[None, :])
        pair = order > 0
        losses = F.softplus(-diff)
        loss = (losses * pair).sum() / pair.sum().clamp(min=1)
        return loss, diff


def example_inputs():
    docs = torch.randn(11, 10)
    relevance = torch.tensor([0, 2, 1, 0, 0, 3, 1, 0, 2, 0, 1])
    return docs, relevance
