"""Model-agnostic meta-learning on sine waves."""
import math
import random

import torch
import torch.nn.functional as F
from torch import nn, optim


class SineTask:
    def __init__(self, rng):
        self.amplitude = rng.uniform(0.1, 5.0)
        self.phase = rng.uniform(0, math.pi)

    def sample(self, k):
        x = torch.empty(k, 1).uniform_(-5, 5)
        return x, self.amplitude * torch.sin(x + self.phase)


class SineNet(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.l1 = nn.Linear(1, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, 1)

    def functional(self, x, w):
        x = F.relu(F.linear(x, w[0], w[1]))
        x = F.relu(F.linear(x, w[2], w[3]))
        return F.linear(x, w[4], w[5])

    def forward(self, x):
        return self.functional(x, list(self.parameters()))


class MAML:
    def __init__(self, model, inner_lr=0.01, meta_lr=1e-3, shots=10, inner_steps=2):
        self.model = model
        self.weights = list(model.parameters())
        self.optimizer = optim.Adam(self.weights, meta_lr)
        self.inner_lr, self.shots, self.inner_steps = inner_lr, shots, inner_steps

    def inner_loop(self, task):
        fast = [w.clone() for w in self.weights]
        x, y = task.sample(self.shots)
        for _ in range(self.inner_steps):
            loss = F.mse_loss(self.model.functional(x, fast), y)
            grads = torch.autograd.grad(loss, fast, create_graph=True)
            fast = [w - self.inner_lr * g for w, g in zip(fast, grads)]
        x, y = task.sample(self.shots)
        return F.mse_loss(self.model.functional(x, fast), y)

    def train(self, iterations, tasks, rng):
        for it in range(1, iterations + 1):
            meta_loss = torch.zeros(())
            for _ in range(tasks):
                meta_loss = meta_loss + self.inner_loop(SineTask(rng))
            grads = torch.autograd.grad(meta_loss / tasks, self.weights)
            for w, g in zip(self.weights, grads):
                w.grad = g
            self.optimizer.step()
            print(f"{it}: {meta_loss.item() / tasks:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    MAML(SineNet()).train(iterations=4, tasks=3, rng=random.Random(0))
