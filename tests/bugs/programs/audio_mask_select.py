import torch
from torch import nn

HOP = 4


class Model(nn.Module):
    """Energy of the voiced frames, and the enrolled speakers' vectors."""

    def __init__(self, n_speakers=10, dim=8):
        super().__init__()
        self.speakers = nn.Parameter(torch.randn(n_speakers, dim))
        self.score = nn.Linear(20, 1)

    def voiced(self, frames, active):
        energy = self.score(frames).squeeze(-1)
        mask = active
        kept = energy[mask]
        return kept[:30]

    def enrolled(self, ids):
        rows = torch.index_select(self.speakers, 0, ids)
        return rows.view(*ids.shape, -1)

    def forward(self, frames, active, ids):
        return self.voiced(frames, active), self.enrolled(ids)


def example_inputs():
    active = torch.ones(3, 16, dtype=torch.bool)
    active[:, 12:] = False
    ids = torch.tensor([[0, 4], [9, 2], [5, 5]])
    return torch.randn(3, 64, 20), active, ids
