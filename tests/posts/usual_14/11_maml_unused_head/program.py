"""
MAML on sinusoids (regression); the network also has a small uncertainty head that
is used for the outer, Gaussian likelihood.
"""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

random.seed(0)
torch.manual_seed(0)


class SineTask:
    def __init__(self):
        self.amplitude = random.uniform(0.5, 4.0)
        self.phase = random.uniform(0, math.pi)

    def sample(self, k):
        x = torch.rand(k, 1) * 10 - 5
        return x, self.amplitude * torch.sin(x + self.phase)


class Regressor(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.mean = nn.Linear(hidden, 1)
        self.log_var = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h).clamp(-4, 4)


class MAML:
    def __init__(self, net, inner_lr=0.01, inner_steps=1, meta_lr=1e-3):
        self.net = net
        self.inner_lr, self.inner_steps = inner_lr, inner_steps
        self.meta_opt = torch.optim.Adam(net.parameters(), lr=meta_lr)

    def adapt(self, x, y, create_graph=True):
        weights = dict(self.net.named_parameters())
        for _ in range(self.inner_steps):
            mean, _ = functional_call(self.net, weights, (x,))
            loss = F.mse_loss(mean, y)
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=create_graph)
            weights = {
                name: w - self.inner_lr * g for (name, w), g in zip(weights.items(), grads)
            }
        return weights

    def query_loss(self, weights, x, y):
        mean, log_var = functional_call(self.net, weights, (x,))
        return F.gaussian_nll_loss(mean, y, log_var.exp())

    def meta_step(self, tasks, k=10):
        self.meta_opt.zero_grad()
        total = 0.0
        for task in tasks:
            weights = self.adapt(*task.sample(k))
            loss = self.query_loss(weights, *task.sample(k)) / len(tasks)
            loss.backward()
            total += loss.item()
        self.meta_opt.step()
        return total

    def evaluate(self, n_tasks=20, k=10):
        errors = []
        for _ in range(n_tasks):
            task = SineTask()
            weights = self.adapt(*task.sample(k), create_graph=False)
            with torch.no_grad():
                x, y = task.sample(100)
                mean, _ = functional_call(self.net, weights, (x,))
                errors.append(F.mse_loss(mean, y).item())
        return sum(errors) / len(errors)


if __name__ == "__main__":
    maml = MAML(Regressor())
    for it in range(1, 301):
        nll = maml.meta_step([SineTask() for _ in range(5)])
        if it % 100 == 0:
            print(f"iteration {it:4d}  query nll {nll:.3f}  post-adaptation mse {maml.evaluate():.3f}")
