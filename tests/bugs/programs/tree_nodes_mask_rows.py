import math

import torch
import torch.nn as nn


class NodeAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.scale = 1 / math.sqrt(dim)

    def forward(self, nodes, empty):
        q, k, v = self.q(nodes), self.k(nodes), self.v(nodes)
        scores = torch.matmul(q, k.transpose(1, 2)) * self.scale
        scores = scores.masked_fill(empty.unsqueeze(2), -1e9)
        return torch.matmul(scores.softmax(dim=-1), v)


class Model(nn.Module):
    """Code summaries from syntax trees, trees padded to the largest one."""

    def __init__(self, n_types=40, dim=20, n_layers=2, n_words=60):
        super().__init__()
        self.embed = nn.Embedding(n_types, dim, padding_idx=0)
        self.layers = nn.ModuleList([NodeAttention(dim) for _ in range(n_layers)])
        self.out = nn.Linear(dim, n_words)

    def forward(self, types):
        empty = types.eq(0)
        h = self.embed(types)
        for layer in self.layers:
            h = h + layer(h, empty)
        return self.out(h[:, 0])


def example_inputs():
    torch.manual_seed(5)
    types = torch.randint(1, 40, (4, 15))
    types[0, 10:] = 0
    types[2, 6:] = 0
    return (types,)
