import math

import torch
import torch.nn as nn
from sklearn.datasets import make_moons
from torch.utils.data import DataLoader, TensorDataset


class AffineCoupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(
            nn.Linear(dim // 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, dim)
        )
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def _params(self, a):
        s, t = self.net(a).chunk(2, dim=1)
        return torch.tanh(s), t

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self._params(a)
        b = (b - t) * torch.exp(-s)
        out = torch.cat([b, a], dim=1) if self.flip else torch.cat([a, b], dim=1)
        return out, s.sum(dim=1)

    def inverse(self, z):
        a, b = z.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self._params(a)
        b = b * torch.exp(s) + t
        return torch.cat([b, a], dim=1) if self.flip else torch.cat([a, b], dim=1)


class RealNVP(nn.Module):
    def __init__(self, n_layers=6, dim=2, hidden=48):
        super().__init__()
        self.layers = nn.ModuleList([AffineCoupling(dim, hidden, flip=i % 2 == 1) for i in range(n_layers)])

    def log_prob(self, x):
        log_det = torch.zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        base = -0.5 * (x ** 2).sum(dim=1) - 0.5 * x.shape[1] * math.log(2 * math.pi)
        return base + log_det

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


torch.manual_seed(0)
points, _ = make_moons(3000, noise=0.06, random_state=0)
x = torch.tensor(points, dtype=torch.float32)
x = (x - x[:2400].mean(0)) / x[:2400].std(0)
train_x, test_x = x[:2400], x[2400:]
loader = DataLoader(TensorDataset(train_x), batch_size=200, shuffle=True)
flow = RealNVP()
optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3)

for epoch in range(30):
    for (xb,) in loader:
        loss = -flow.log_prob(xb).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        optimizer.step()
    if epoch % 6 == 5:
        with torch.no_grad():
            nll = -flow.log_prob(test_x).mean()
        s = flow.sample(1000)
        nearest = torch.cdist(s, test_x).min(dim=1).values.mean()
        print(f"epoch {epoch + 1}: test NLL {nll:.3f}  sample std {s.std():.3f}  distance to data {nearest:.3f}")
