# line 18: the physics-informed residual takes du/dt without create_graph, so the derivative in its loss is a constant
import torch
from torch import nn


class PINN(nn.Module):
    """u'(t) = k cos(k t), u(0) = 1."""

    def __init__(self, k=1.5):
        super().__init__()
        self.u = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
        self.k = k

    def forward(self, t):
        return self.u(t)

    def derivative(self, u, t):
        return torch.autograd.grad(u, t, torch.ones_like(u), retain_graph=True)[0]

    def residual(self, t):
        t = t.clone().requires_grad_(True)
        u = self(t)
        return self.derivative(u, t) - self.k * torch.cos(self.k * t)


def losses(net, n):
    start = net(torch.zeros(1, 1)) - 1
    physics = net.residual(torch.rand(n, 1) * 2)
    return start.square().mean(), physics.square().mean()


torch.manual_seed(0)
net = PINN()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(200):
    a, b = losses(net, 64)
    loss = a + b
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, a.item(), b.item())
net.eval()
with torch.no_grad():
    t = torch.linspace(0, 2, 50).unsqueeze(1)
    exact = 1 + torch.sin(net.k * t)
    print("error", (net(t) - exact).abs().max().item())
