import math

import torch
import torch.nn as nn


def exact(xy):
    x, y = xy[:, :1], xy[:, 1:]
    return torch.sin(math.pi * x) * torch.sin(math.pi * y) + x * y


def source(xy):
    x, y = xy[:, :1], xy[:, 1:]
    return -2 * math.pi ** 2 * torch.sin(math.pi * x) * torch.sin(math.pi * y)


def sample_boundary(n):
    t = torch.rand(n, 1)
    zero, one = torch.zeros_like(t), torch.ones_like(t)
    sides = [torch.cat(p, dim=1) for p in ((t, zero), (t, one), (zero, t), (one, t))]
    return torch.cat(sides)


class PINN(nn.Module):
    def __init__(self, width=40, depth=3):
        super().__init__()
        layers, n_in = [], 2
        for _ in range(depth):
            layers += [nn.Linear(n_in, width), nn.Tanh()]
            n_in = width
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, xy):
        return self.net(xy)


def laplacian(u, xy):
    (grad_u,) = torch.autograd.grad(u.sum(), xy, create_graph=True)
    terms = []
    for i in range(xy.shape[1]):
        (row,) = torch.autograd.grad(grad_u[:, i].sum(), xy, create_graph=True)
        terms.append(row[:, i:i + 1])
    return sum(terms)


def relative_l2(model, n=40):
    axis = torch.linspace(0, 1, n)
    grid = torch.cartesian_prod(axis, axis)
    with torch.no_grad():
        err = model(grid) - exact(grid)
    return (err.norm() / exact(grid).norm()).item()


torch.manual_seed(0)
model = PINN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1200, eta_min=1e-4)

for it in range(1, 1201):
    interior = torch.rand(256, 2, requires_grad=True)
    boundary = sample_boundary(32)
    residual = laplacian(model(interior), interior) - source(interior)
    pde_loss = residual.pow(2).mean()
    bc_loss = (model(boundary) - exact(boundary)).pow(2).mean()
    loss = pde_loss + 100 * bc_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if it % 200 == 0:
        print(f"iter {it}: pde {pde_loss.item():.4f}  bc {bc_loss.item():.6f}  relative L2 {relative_l2(model):.4f}")
