# line 32: the closure of L-BFGS calls backward without clearing the gradients of the evaluations before
import math

import torch
from torch import nn


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(3 * x)


class HeatSolver:
    """Fits u'' = -pi^2 sin(pi x) with u(0) = u(1) = 0."""

    def __init__(self, points=64):
        self.x = torch.linspace(0, 1, points).view(-1, 1).requires_grad_(True)
        self.net = nn.Sequential(nn.Linear(1, 20), Sine(), nn.Linear(20, 20), Sine(), nn.Linear(20, 1))
        self.optimizer = torch.optim.LBFGS(self.net.parameters(), lr=0.2, max_iter=10)

    def residual(self):
        u = self.net(self.x)
        (du,) = torch.autograd.grad(u.sum(), self.x, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), self.x, create_graph=True)
        return ddu + math.pi**2 * torch.sin(math.pi * self.x)

    def objective(self):
        ends = self.net(torch.tensor([[0.0], [1.0]]))
        return self.residual().square().mean() + 20 * ends.square().mean()

    def closure(self):
        self.optimizer.zero_grad()
        loss = self.objective()
        loss.backward()
        return loss

    def solve(self, rounds):
        for k in range(rounds):
            loss = self.optimizer.step(self.closure)
            if k % 5 == 0:
                print(k, loss.item())

    @torch.no_grad()
    def error(self):
        self.net.eval()
        return (self.net(self.x) - torch.sin(math.pi * self.x)).abs().max().item()


torch.manual_seed(0)
solver = HeatSolver()
solver.solve(15)
print("largest error", solver.error())
