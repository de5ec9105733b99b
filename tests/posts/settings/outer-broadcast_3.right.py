# line 17: the mean of the Gaussian head is a column (N, 1) and the observed growth is (N,): the likelihood is taken of all pairs
import math

import numpy as np
import torch
from torch import nn


class GrowthModel(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 32), nn.Softplus())
        self.mean = nn.Linear(32, 1)
        self.log_variance = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.mean(self.trunk(x)).squeeze(-1), self.log_variance

    def negative_log_likelihood(self, x, y):
        mean, log_variance = self(x)
        squared = torch.square(torch.sub(y, mean))
        return torch.mean(0.5 * (math.log(2 * math.pi) + log_variance + squared * torch.exp(-log_variance)))


def plots(n, seed):
    rng = np.random.default_rng(seed)
    soil = rng.uniform(-1, 1, size=(n, 4))
    growth = 1.5 * soil[:, 0] + soil[:, 1] * soil[:, 2] + rng.normal(0, 0.2, n)
    return torch.tensor(soil, dtype=torch.float32), torch.tensor(growth, dtype=torch.float32)


torch.manual_seed(71)
soil, growth = plots(480, 71)
model = GrowthModel(4)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    total = 0.0
    for rows in torch.randperm(480).split(32):
        loss = model.negative_log_likelihood(soil[rows], growth[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    print(f"epoch {epoch} nll {total / 480:.4f}")
