# line 45: the closure of L-BFGS is called directly and never given to a step of the optimizer
import numpy as np
import torch
from torch import nn

torch.manual_seed(54)


class Pinn(nn.Module):
    """Solves u'' = -u on [0, 3] with u(0) = 0 and u'(0) = 1."""

    def __init__(self):
        super().__init__()
        self.u = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, t):
        return self.u(t)


def derivative(u, t):
    return torch.autograd.grad(u.sum(), t, create_graph=True)[0]


def residual(model, t):
    u = model(t)
    du = derivative(u, t)
    start = (u[0] ** 2 + (du[0] - 1) ** 2).sum()
    return (derivative(du, t) + u).square().mean() + start


model = Pinn()
solver = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)
t = torch.linspace(0, 3, 40).view(-1, 1).requires_grad_()


def closure():
    solver.zero_grad()
    loss = residual(model, t)
    loss.backward()
    return loss


history = []
for it in range(10):
    loss = closure()
    history.append(loss.item())
model.eval()
with torch.no_grad():
    error = np.abs(model(t).numpy() - np.sin(t.numpy())).max()
print("loss", history[-1], "largest error", error)
