# %% [markdown]
# # Damped oscillator with a PINN
# m u'' + mu u' + k u = 0,   u(0) = 1, u'(0) = 0
# %%
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(123)
d, w0 = 2.0, 10.0          # mu = 2 d, k = w0**2, m = 1


def exact(t):
    w = np.sqrt(w0 ** 2 - d ** 2)
    phi = np.arctan(-d / w)
    A = 1 / (2 * np.cos(phi))
    return np.exp(-d * t) * 2 * A * np.cos(phi + w * t)

# %%
class FCN(nn.Module):
    "fully connected network with tanh"
    def __init__(self, n_in=1, n_out=1, n_hidden=32, n_layers=3):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh())
        self.hidden = nn.Sequential(*[nn.Sequential(nn.Linear(n_hidden, n_hidden), nn.Tanh())
                                      for _ in range(n_layers - 1)])
        self.last = nn.Linear(n_hidden, n_out)

    def forward(self, t):
        return self.last(self.hidden(self.first(t)))


def derivative(u, t):
    return torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u))[0]


class OscillatorPINN:
    def __init__(self, net, lam_du=1e-1, lam_phys=1e-4):
        self.net, self.lam_du, self.lam_phys = net, lam_du, lam_phys
        self.mu, self.k = 2 * d, w0 ** 2
        self.t_phys = torch.linspace(0, 1, 60).view(-1, 1).requires_grad_(True)
        self.t0 = torch.zeros(1, 1, requires_grad=True)

    def boundary_value(self):
        return torch.squeeze(self.net(self.t0) - 1) ** 2

    def boundary_slope(self):
        return torch.squeeze(derivative(self.net(self.t0), self.t0)) ** 2

    def residual(self):
        u = self.net(self.t_phys)
        du = derivative(u, self.t_phys)
        d2u = derivative(du, self.t_phys)
        return ((d2u + self.mu * du + self.k * u) ** 2).mean()

    def loss(self):
        return self.boundary_value() + self.lam_du * self.boundary_slope() + self.lam_phys * self.residual()

# %%
pinn = OscillatorPINN(FCN())
opt = torch.optim.Adam(pinn.net.parameters(), lr=2e-3)
t_test = torch.linspace(0, 1, 300).view(-1, 1)
u_exact = torch.tensor(exact(t_test.numpy()), dtype=torch.float32)

for i in range(2001):
    opt.zero_grad()
    loss = pinn.loss()
    loss.backward()
    opt.step()
    if i % 500 == 0:
        with torch.no_grad():
            err = (pinn.net(t_test) - u_exact).pow(2).mean().sqrt()
        print(f"{i:5d}  loss {loss.item():.5f}  rmse {err.item():.4f}")
