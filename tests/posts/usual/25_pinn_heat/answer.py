import math
import torch
import torch.nn as nn

torch.manual_seed(0)
ALPHA = 0.1


class MLP(nn.Module):
    def __init__(self, layers=(2, 32, 32, 32, 1)):
        super().__init__()
        mods = []
        for i in range(len(layers) - 2):
            mods += [nn.Linear(layers[i], layers[i + 1]), nn.Tanh()]
        mods.append(nn.Linear(layers[-2], layers[-1]))
        self.net = nn.Sequential(*mods)

    def forward(self, xt):
        return self.net(xt)


def grad(outputs, inputs):
    return torch.autograd.grad(
        outputs, inputs, grad_outputs=torch.ones_like(outputs), create_graph=True
    )[0]


def pde_residual(net, xt):
    """u_t - alpha * u_xx for the heat equation"""
    xt.requires_grad_(True)
    x = xt[:, 0:1]
    t = xt[:, 1:2]
    u = net(torch.cat([x, t], dim=1))
    u_t = grad(u, t)
    u_x = grad(u, x)
    u_xx = grad(u_x, x)
    return u_t - ALPHA * u_xx


# collocation points, initial condition u(x, 0) = sin(pi x), boundary u(0, t) = u(1, t) = 0
n_f, n_b = 1000, 200
xt_f = torch.rand(n_f, 2)
x0 = torch.rand(n_b, 1)
xt_init = torch.cat([x0, torch.zeros(n_b, 1)], dim=1)
u_init = torch.sin(math.pi * x0)
t_b = torch.rand(n_b, 1)
xt_bound = torch.cat([
    torch.cat([torch.zeros(n_b, 1), t_b], dim=1),
    torch.cat([torch.ones(n_b, 1), t_b], dim=1),
])

net = MLP()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
mse = nn.MSELoss()

for it in range(201):
    optimizer.zero_grad()
    res = pde_residual(net, xt_f)
    loss_pde = mse(res, torch.zeros_like(res))
    loss_init = mse(net(xt_init), u_init)
    u_b = net(xt_bound)
    loss_bound = mse(u_b, torch.zeros_like(u_b))
    loss = loss_pde + loss_init + loss_bound
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        print(f"{it:4d} pde {loss_pde.item():.5f} ic {loss_init.item():.5f} bc {loss_bound.item():.5f}")

with torch.no_grad():
    test = torch.tensor([[0.5, 0.5]])
    exact = math.exp(-ALPHA * math.pi ** 2 * 0.5)
    print("u(0.5, 0.5) =", net(test).item(), "exact", exact)
