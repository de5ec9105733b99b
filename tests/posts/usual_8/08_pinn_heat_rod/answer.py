"""PINN for a heated rod:  u_t = kappa * u_xx,  u(0,t) = u(1,t) = 0,  u(x,0) = sin(pi x)

Homework 4, scientific machine learning
"""
import math
import numpy as np
import torch
import torch.nn as nn

KAPPA = 0.1
torch.manual_seed(1234)


class MLP(nn.Module):
    def __init__(self, layers):
        super().__init__()
        mods = []
        for i in range(len(layers) - 2):
            mods += [nn.Linear(layers[i], layers[i + 1]), nn.Tanh()]
        mods.append(nn.Linear(layers[-2], layers[-1]))
        self.net = nn.Sequential(*mods)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


class HeatPINN:
    def __init__(self, n_col=1000, n_bc=100, n_ic=100):
        self.u = MLP([2, 32, 32, 32, 1])
        self.mse = nn.MSELoss()
        # collocation points
        self.x_f = torch.rand(n_col, 1).requires_grad_()
        self.t_f = torch.rand(n_col, 1).requires_grad_()
        # initial condition
        self.x_i = torch.rand(n_ic, 1)
        self.t_i = torch.zeros(n_ic, 1)
        self.u_i = torch.sin(math.pi * self.x_i)
        # both ends of the rod
        self.t_b = torch.rand(n_bc, 1)
        self.x_b = torch.randint(0, 2, (n_bc, 1)).float()
        self.u_b = torch.zeros(n_bc, 1)
        self.opt = torch.optim.Adam(self.u.parameters(), lr=2e-3)

    def residual(self):
        u = self.u(self.x_f, self.t_f)
        u_t = derivative(u, self.t_f)
        u_x = derivative(u, self.x_f)
        u_xx = derivative(u_x, self.x_f)
        return u_t - KAPPA * u_xx

    def loss(self):
        f = self.residual()
        loss_f = self.mse(f, torch.zeros_like(f))
        loss_i = self.mse(self.u(self.x_i, self.t_i), self.u_i)
        loss_b = self.mse(self.u(self.x_b, self.t_b), self.u_b)
        return loss_f, loss_i, loss_b

    def fit(self, iters=400):
        for it in range(iters):
            self.opt.zero_grad()
            loss_f, loss_i, loss_b = self.loss()
            total = loss_f + loss_i + loss_b
            total.backward()
            self.opt.step()
            if it % 100 == 0:
                print(f"it {it:4d}  pde {loss_f.item():.2e}  ic {loss_i.item():.2e}  bc {loss_b.item():.2e}")

    @torch.no_grad()
    def predict(self, x, t):
        return self.u(torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(t, dtype=torch.float32)).numpy()


pinn = HeatPINN()
pinn.fit()

xx, tt = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 21))
exact = np.sin(np.pi * xx) * np.exp(-KAPPA * np.pi ** 2 * tt)
pred = pinn.predict(xx.reshape(-1, 1), tt.reshape(-1, 1)).reshape(xx.shape)
print("relative L2 error", np.linalg.norm(pred - exact) / np.linalg.norm(exact))
