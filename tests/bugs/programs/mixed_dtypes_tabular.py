import numpy as np
import torch
from torch import nn


class Model(nn.Module):
    """House prices: numeric columns plus a few small categorical ones."""

    def __init__(self, n_num=5, n_cat=3, hidden=16):
        super().__init__()
        self.num = nn.Linear(n_num, hidden)
        self.cat = nn.Linear(n_cat, hidden)
        self.missing = nn.Linear(n_num, hidden)
        self.out = nn.Linear(3 * hidden, 1)

    def forward(self, numeric, codes, present):
        a = self.num(numeric)
        b = self.cat(codes)
        absent = torch.ones_like(present) - present
        c = self.missing(absent)
        h = torch.cat([a, b, c], dim=-1)
        return self.out(torch.relu(h))


def load_table(rows=6):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(rows, 5))
    codes = rng.integers(0, 4, size=(rows, 3))
    present = rng.random((rows, 5)) > 0.2
    return table, codes, present


def example_inputs():
    table, codes, present = load_table()
    numeric = torch.from_numpy(table)
    return numeric, torch.from_numpy(codes), torch.from_numpy(present)
