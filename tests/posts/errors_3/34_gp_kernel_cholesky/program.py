import math

import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class ExactGP(torch.nn.Module):
    def __init__(self, lengthscale=0.5, variance=1.0, noise=0.1):
        super().__init__()
        self.log_ls = torch.nn.Parameter(torch.tensor(math.log(lengthscale)))
        self.log_var = torch.nn.Parameter(torch.tensor(math.log(variance)))
        self.log_noise = torch.nn.Parameter(torch.tensor(math.log(noise)))

    def kernel(self, a, b):
        d2 = (a - b.T).pow(2)
        return self.log_var.exp() * torch.exp(-0.5 * d2 / self.log_ls.exp() ** 2)

    def nll(self, x, y):
        n = len(x)
        K = self.kernel(x, x) - self.log_noise.exp() * torch.eye(n)
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y, L)
        fit = 0.5 * (y * alpha).sum()
        return fit + L.diagonal().log().sum() + 0.5 * n * math.log(2 * math.pi)


x = torch.rand(60, 1) * 6
y = torch.sin(2 * x) + 0.2 * torch.randn(60, 1)

gp = ExactGP()
opt = torch.optim.Adam(gp.parameters(), lr=0.05)
for it in range(60):
    opt.zero_grad()
    loss = gp.nll(x, y)
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(f"{it:3d} nll {loss.item():.3f} noise {gp.log_noise.exp().item():.4f}")
