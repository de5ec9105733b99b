"""Products of all pairs of fields, as in DLRM."""

import torch
from torch import nn


class Interactions(nn.Module):
    def __init__(self, fields=6, dim=8):
        super().__init__()
        self.scale = nn.Linear(dim, dim)
        self.top = nn.Sequential(
            nn.Linear(fields * (fields + 1) // 2, 16),
            nn.ReLU(),
            nn.Linear(16, 1),
        )

    def forward(self, fields):
        fields = self.scale(fields)
        count = fields.shape[1]
        products = torch.bmm(fields, fields.transpose(1, 2))
        row, column = torch.triu_indices(count, count)
        pairs = products[:, row, column]
        return self.top(pairs).squeeze(-1)
