import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(n_users, dim), nn.Linear(dim, dim))
        self.item = nn.Sequential(nn.Embedding(n_items, dim), nn.Linear(dim, dim))
        self.temperature = nn.Parameter(torch.tensor(0.1))

    def forward(self, users, items):
        u = F.normalize(self.user(users), dim=-1)
        v = F.normalize(self.item(items), dim=-1)
        score = torch.einsum("bd,bd", u, v)
        return score / self.temperature


class Model(nn.Module):
    """Pairwise ranking of a clicked and a sampled item."""

    def __init__(self):
        super().__init__()
        self.towers = TwoTower(50, 80, 16)

    def forward(self, users, clicked, sampled):
        pos = self.towers(users, clicked)
        neg = self.towers(users, sampled)
        margin = pos - neg
        return margin, F.softplus(-margin).mean()


def example_inputs():
    return torch.randint(50, (9,)), torch.randint(80, (9,)), torch.randint(80, (9,))
