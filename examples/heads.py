import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)

    def forward(self, x):
        first = torch.tensor([[2], [0]])
        query = self.query(x)
        return torch.gather(query, 1, first)
