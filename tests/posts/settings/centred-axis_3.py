# line 18: the cross covariance of the two views is centred over the features of each sample instead of over the samples
import torch
import torch.nn as nn


def view_net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, outputs))


class DeepCCA(nn.Module):
    def __init__(self, dims, k=4, ridge=1e-3):
        super().__init__()
        self.left, self.right = view_net(dims[0], k), view_net(dims[1], k)
        self.k, self.ridge = k, ridge

    @staticmethod
    def deviations(h):
        mu = torch.mean(h, -1, keepdim=True)
        return h - mu

    def inverse_root(self, h):
        cov = torch.einsum("ni,nj->ij", h, h) / (len(h) - 1)
        values, vectors = torch.linalg.eigh(cov + self.ridge * torch.eye(self.k))
        return vectors @ torch.diag(values.clamp(min=1e-6).rsqrt()) @ vectors.t()

    def forward(self, a, b):
        u, v = self.deviations(self.left(a)), self.deviations(self.right(b))
        cross = torch.einsum("ni,nj->ij", u, v) / (len(u) - 1)
        t = self.inverse_root(u) @ cross @ self.inverse_root(v)
        return -torch.linalg.svdvals(t).sum()


def two_views(n):
    common = torch.randn(n, 3)
    a = torch.cat([common + 0.2 * torch.randn(n, 3), torch.randn(n, 5)], dim=1)
    b = torch.cat([torch.randn(n, 4), common.pow(3) + 0.2 * torch.randn(n, 3)], dim=1)
    return a, b


torch.manual_seed(12)
cca = DeepCCA((8, 7))
optimizer = torch.optim.Adam(cca.parameters(), lr=2e-3)
a, b = two_views(1000)
for epoch in range(10):
    cca.train()
    for idx in torch.randperm(1000).split(200):
        optimizer.zero_grad()
        cca(a[idx], b[idx]).backward()
        optimizer.step()

cca.eval()
with torch.no_grad():
    print("sum of canonical correlations", -cca(*two_views(500)).item())
