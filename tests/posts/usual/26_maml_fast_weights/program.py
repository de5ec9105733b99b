import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import OrderedDict
from torch.func import functional_call

torch.manual_seed(0)

META_LR = 1e-3
INNER_LR = 0.01
INNER_STEPS = 3
TASKS_PER_BATCH = 4
K_SHOT = 10


class SineTask:
    def __init__(self):
        self.amp = 0.1 + 4.9 * torch.rand(1)
        self.phase = math.pi * torch.rand(1)

    def sample(self, k):
        x = torch.rand(k, 1) * 10 - 5
        return x, self.amp * torch.sin(x + self.phase)


class Regressor(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x)


def adapt(model, x, y):
    """a few gradient steps on the support set, returns the adapted weights"""
    weights = OrderedDict(model.state_dict())
    for _ in range(INNER_STEPS):
        pred = functional_call(model, weights, (x,))
        loss = F.mse_loss(pred, y)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = OrderedDict(
            (name, w - INNER_LR * g) for (name, w), g in zip(weights.items(), grads)
        )
    return weights


model = Regressor()
meta_optimizer = torch.optim.Adam(model.parameters(), lr=META_LR)

for iteration in range(100):
    meta_loss = 0.0
    for _ in range(TASKS_PER_BATCH):
        task = SineTask()
        x_s, y_s = task.sample(K_SHOT)
        x_q, y_q = task.sample(K_SHOT)
        fast = adapt(model, x_s, y_s)
        meta_loss = meta_loss + F.mse_loss(functional_call(model, fast, (x_q,)), y_q)
    meta_loss = meta_loss / TASKS_PER_BATCH

    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
    if iteration % 20 == 0:
        print(f"iteration {iteration} meta loss {meta_loss.item():.4f}")
