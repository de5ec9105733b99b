# line 18: VICReg's covariance term centres each sample over its features (mean of dim 1) instead of each feature
import torch
import torch.nn as nn
import torch.nn.functional as F


def off_diagonal(m):
    n = m.size(0)
    return m.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


class VICReg(nn.Module):
    def __init__(self, inv=25.0, var=25.0, cov=1.0):
        super().__init__()
        self.w = (inv, var, cov)

    def covariance(self, z):
        z = torch.sub(z, torch.mean(z, 1, True))
        c = torch.einsum("ni,nj->ij", z, z) / (z.size(0) - 1)
        return off_diagonal(c).pow(2).sum() / z.size(1)

    def forward(self, a, b):
        inv = F.mse_loss(a, b)
        var = sum(F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean() for z in (a, b))
        cov = self.covariance(a) + self.covariance(b)
        return self.w[0] * inv + self.w[1] * var + self.w[2] * cov


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return self.f(x)


torch.manual_seed(0)
enc, objective = Encoder(), VICReg()
opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
basis = torch.randn(5, 20)
for it in range(100):
    x = torch.randn(64, 5) @ basis
    a, b = enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x))
    loss = objective(a, b)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
