"""Attention with a learned bias for each distance up to 15."""

import torch
from torch import nn


class RelativeAttention(nn.Module):
    def __init__(self, dim=8, max_distance=16):
        super().__init__()
        self.max_distance = max_distance
        self.bias = nn.Parameter(torch.zeros(2 * max_distance - 1))
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)

    def forward(self, x, memory):
        q = self.q(x)
        k, v = self.kv(memory).chunk(2, dim=-1)
        rows = torch.arange(x.shape[1])[:, None]
        columns = torch.arange(memory.shape[1])[None, :]
        distance = rows - columns + self.max_distance - 1
        scores = q @ k.transpose(-2, -1) + self.bias[distance]
        return scores.softmax(-1) @ v
