import math

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(4)
torch.manual_seed(4)


class RBFKernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.zeros(1))
        self.raw_outputscale = nn.Parameter(torch.zeros(1))

    def forward(self, x1, x2):
        lengthscale = nn.functional.softplus(self.raw_lengthscale)
        outputscale = nn.functional.softplus(self.raw_outputscale)
        dist = torch.cdist(x1 / lengthscale, x2 / lengthscale, compute_mode="donot_use_mm_for_euclid_dist")
        return outputscale * torch.exp(-0.5 * dist.pow(2))


class ExactGP(nn.Module):
    def __init__(self, train_x, train_y):
        super().__init__()
        self.train_x = train_x
        self.train_y = train_y
        self.kernel = RBFKernel()
        self.raw_noise = nn.Parameter(torch.tensor([-2.0]))
        self.mean = nn.Parameter(torch.zeros(1))

    def _cholesky(self):
        n = self.train_x.size(0)
        noise = nn.functional.softplus(self.raw_noise) + 1e-4
        cov = self.kernel(self.train_x, self.train_x) + noise * torch.eye(n)
        return torch.linalg.cholesky(cov)

    def neg_log_likelihood(self):
        chol = self._cholesky()
        diff = (self.train_y - self.mean).unsqueeze(-1)
        alpha = torch.linalg.solve_triangular(chol, diff, upper=False)
        n = diff.size(0)
        return (0.5 * alpha.pow(2).sum() + chol.diagonal().log().sum() + 0.5 * n * math.log(2 * math.pi)) / n

    def predict(self, test_x):
        chol = self._cholesky()
        diff = (self.train_y - self.mean).unsqueeze(-1)
        cross = self.kernel(test_x, self.train_x)
        mean = self.mean + (cross @ torch.cholesky_solve(diff, chol)).squeeze(-1)
        solved = torch.linalg.solve_triangular(chol, cross.t(), upper=False)
        prior = nn.functional.softplus(self.kernel.raw_outputscale)
        return mean, (prior - solved.pow(2).sum(0)).clamp_min(1e-9)


depth = rng.uniform(0, 4, size=60)
porosity = np.sin(2 * depth) + 0.1 * rng.normal(size=60)

train_x = torch.tensor(depth, dtype=torch.float32).unsqueeze(-1)
train_y = torch.from_numpy(porosity).float()
test_x = torch.linspace(0, 4, 25).unsqueeze(-1)

model = ExactGP(train_x, train_y)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(60):
    optimizer.zero_grad()
    loss = model.neg_log_likelihood()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")

with torch.no_grad():
    mean, var = model.predict(test_x)
error = (mean - torch.sin(2 * test_x.squeeze(-1))).abs().mean()
print(f"mean error {error:.4f}, mean std {var.sqrt().mean():.4f}")
