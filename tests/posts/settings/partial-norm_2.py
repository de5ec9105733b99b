# line 26: the 1-Lipschitz penalty takes sqrt(sum of squares over the channels) of image gradients: one length for each pixel
import torch
import torch.nn.functional as F
from torch import nn


class Disc(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 12, 4, 2, 1)
        self.b = nn.Conv2d(12, 24, 4, 2, 1)
        self.c = nn.Linear(24 * 16, 1)

    def forward(self, x):
        h = F.silu(self.b(F.silu(self.a(x))))
        return self.c(h.flatten(1)).squeeze(1)


class LipschitzRegularizer:
    def __init__(self, weight=5.0):
        self.weight = weight

    def slopes(self, net, x):
        x = x.detach().clone().requires_grad_()
        (dx,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return torch.sqrt(torch.sum(dx * dx, dim=1) + 1e-12)

    def __call__(self, net, x):
        return self.weight * torch.mean((self.slopes(net, x) - 1.0) ** 2)


def images(n, anomalous):
    base = torch.rand(n, 3, 1, 1).expand(n, 3, 16, 16) + 0.05 * torch.randn(n, 3, 16, 16)
    if anomalous:
        base = base.clone()
        base[:, :, 4:8, 4:8] += 0.8
    return base


torch.manual_seed(0)
disc, reg = Disc(), LipschitzRegularizer()
opt = torch.optim.Adam(disc.parameters(), lr=1e-3)
for it in range(30):
    good, bad = images(16, False), images(16, True)
    alpha = torch.rand(16, 1, 1, 1)
    between = torch.lerp(good, bad, alpha)
    loss = disc(bad).mean() - disc(good).mean() + reg(disc, between)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
