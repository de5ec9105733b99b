# line 27: the R1 penalty of the discriminator on real tables has no graph (retain_graph only)
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.Softplus(), nn.Linear(h, o))


class TableGAN:
    def __init__(self, columns, z=6, r1=5.0):
        self.G, self.D = mlp(z, 32, columns), mlp(columns, 32, 1)
        self.z, self.r1 = z, r1
        self.gopt = torch.optim.Adam(self.G.parameters(), 1e-3, (0.0, 0.99))
        self.dopt = torch.optim.Adam(self.D.parameters(), 1e-3, (0.0, 0.99))

    def latent(self, n):
        return torch.randn(n, self.z)

    def d_step(self, rows):
        rows = rows.detach().requires_grad_()
        real = self.D(rows)
        fake = self.D(self.G(self.latent(len(rows))).detach())
        loss = F.softplus(-real).mean() + F.softplus(fake).mean()
        grads = torch.autograd.grad(real.sum(), rows, retain_graph=True)[0]
        loss = loss + 0.5 * self.r1 * grads.pow(2).sum(dim=1).mean()
        self.dopt.zero_grad()
        loss.backward()
        self.dopt.step()
        return loss.item()

    def g_step(self, n):
        loss = F.softplus(-self.D(self.G(self.latent(n)))).mean()
        self.gopt.zero_grad()
        loss.backward()
        self.gopt.step()
        return loss.item()


torch.manual_seed(0)
cov = np.array([[1, 0.8, 0], [0.8, 1, 0.2], [0, 0.2, 1]])
table = np.random.default_rng(0).multivariate_normal([1, -1, 0], cov, 500)
table = torch.tensor(table, dtype=torch.float32)
gan = TableGAN(3)
for epoch in range(6):
    for i in torch.randperm(500).split(50):
        d, g = gan.d_step(table[i]), gan.g_step(50)
    print(epoch, round(d, 3), round(g, 3))
