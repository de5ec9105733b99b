import torch
import torch.nn as nn


class Model(nn.Module):
    """Do two questions mean the same?"""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(300, 32)
        self.encode = nn.GRU(32, 40, batch_first=True)
        self.classify = nn.Sequential(
            nn.Linear(160, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(64, 2),
        )

    def sentence(self, ids):
        _, h = self.encode(self.embed(ids))
        return h[-1]

    def forward(self, q1, q2):
        u = self.sentence(q1)
        v = self.sentence(q2)
        merged = torch.stack([u, v, (u - v).abs(), u * v], dim=1)
        return self.classify(merged)


def example_inputs():
    return torch.randint(0, 300, (10, 14)), torch.randint(0, 300, (10, 11))
