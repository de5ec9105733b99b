"""
Physics-informed network for the heat equation  u_t = alpha * u_xx
on x in [0, 1], t in [0, 1] with u(0, t) = u(1, t) = 0 and u(x, 0) = sin(pi x).
Exact solution: exp(-alpha pi^2 t) sin(pi x).
"""
import math

import torch
import torch.nn as nn

torch.manual_seed(0)

ALPHA = 0.1
N_INTERIOR = 512
N_BOUNDARY = 64
STEPS = 400


class PINN(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def sample_interior(n):
    x = torch.rand(n, 1)
    t = torch.rand(n, 1)
    return x, t


def sample_initial(n):
    x = torch.rand(n, 1)
    return x, torch.zeros_like(x), torch.sin(math.pi * x)


def sample_boundary(n):
    t = torch.rand(n, 1)
    x = (torch.rand(n, 1) > 0.5).float()
    return x, t, torch.zeros_like(t)


def residual(model, x, t):
    u = model(x, t)
    ones = torch.ones_like(u)
    u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
    u_x = torch.autograd.grad(u, x, ones, retain_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
    return u_t - ALPHA * u_xx


def loss_terms(model):
    x, t = sample_interior(N_INTERIOR)
    pde = residual(model, x, t).pow(2).mean()

    x0, t0, u0 = sample_initial(N_BOUNDARY)
    initial = (model(x0, t0) - u0).pow(2).mean()

    xb, tb, ub = sample_boundary(N_BOUNDARY)
    boundary = (model(xb, tb) - ub).pow(2).mean()
    return pde, initial, boundary


def relative_error(model, n=50):
    grid = torch.linspace(0, 1, n)
    x, t = torch.meshgrid(grid, grid, indexing="ij")
    x, t = x.reshape(-1, 1), t.reshape(-1, 1)
    exact = torch.exp(-ALPHA * math.pi ** 2 * t) * torch.sin(math.pi * x)
    with torch.no_grad():
        return ((model(x, t) - exact).norm() / exact.norm()).item()


model = PINN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=200, gamma=0.3)

for step in range(1, STEPS + 1):
    optimizer.zero_grad()
    pde, initial, boundary = loss_terms(model)
    loss = pde + 10 * initial + 10 * boundary
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 100 == 0:
        print(f"step {step:4d} pde {pde.item():.2e} ic {initial.item():.2e} bc {boundary.item():.2e} "
              f"rel. error {relative_error(model):.3f}")
