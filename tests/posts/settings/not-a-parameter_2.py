# line 12: the item factors are a scaled, detached copy of a Parameter: a plain tensor that the optimizer does not get
import numpy as np
import torch
from torch import nn


class FactorModel(nn.Module):
    def __init__(self, n_users, n_items, rank, scale=0.1):
        super().__init__()
        self.users = nn.Embedding(n_users, rank)
        nn.init.normal_(self.users.weight, std=scale)
        self.item_factors = scale * nn.Parameter(torch.randn(n_items, rank)).detach()
        self.user_bias = nn.Parameter(torch.zeros(n_users))
        self.item_bias = nn.Parameter(torch.zeros(n_items))

    def forward(self, u, i):
        dot = (self.users(u) * self.item_factors[i]).sum(-1)
        return dot + self.user_bias[u] + self.item_bias[i]


def ratings(n_users, n_items, rng):
    a, b = rng.normal(size=(n_users, 3)), rng.normal(size=(n_items, 3))
    full = a @ b.T
    u = rng.integers(0, n_users, 2000)
    i = rng.integers(0, n_items, 2000)
    return u, i, full[u, i].astype(np.float32)


class Fitter:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)

    def one_pass(self, triples, size=200):
        u, i, r = triples
        self.net.train()
        for idx in torch.randperm(len(r)).split(size):
            loss = (self.net(u[idx], i[idx]) - r[idx]).square().mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    def rmse(self, triples):
        self.net.eval()
        with torch.no_grad():
            u, i, r = triples
            return (self.net(u, i) - r).square().mean().sqrt().item()


torch.manual_seed(0)
data = [torch.as_tensor(a) for a in ratings(40, 30, np.random.default_rng(0))]
train, test = [a[:1600] for a in data], [a[1600:] for a in data]
fitter = Fitter(FactorModel(40, 30, 8), 0.03)
for epoch in range(10):
    fitter.one_pass(train)
print("rmse", fitter.rmse(test))
