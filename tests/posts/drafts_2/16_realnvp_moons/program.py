import math

import torch
import torch.nn as nn
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Coupling(nn.Module):
    """Affine coupling: one coordinate conditions the change of the other."""

    def __init__(self, cond, hidden=64):
        super().__init__()
        self.cond = cond
        self.change = 1 - cond
        self.net = nn.Sequential(
            nn.Linear(1, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2),
        )

    def _scale_shift(self, x):
        s, t = self.net(x[:, self.cond:self.cond + 1]).chunk(2, dim=1)
        return torch.tanh(s).squeeze(1), t.squeeze(1)

    def forward(self, x):
        s, t = self._scale_shift(x)
        x[:, self.change] = x[:, self.change] * torch.exp(s) + t
        return x, s

    def inverse(self, z):
        s, t = self._scale_shift(z)
        z = z.clone()
        z[:, self.change] = (z[:, self.change] - t) * torch.exp(-s)
        return z


class RealNVP(nn.Module):
    def __init__(self, n_layers=6):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(i % 2) for i in range(n_layers)])

    def forward(self, x):
        log_det = torch.zeros(x.size(0), device=x.device)
        for layer in self.layers:
            x, s = layer(x)
            log_det = log_det + s
        return x, log_det

    def log_prob(self, x):
        z, log_det = self.forward(x)
        log_base = (-0.5 * z ** 2 - 0.5 * math.log(2 * math.pi)).sum(dim=1)
        return log_base + log_det

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


points, _ = make_moons(1000, noise=0.06, random_state=0)
points = StandardScaler().fit_transform(points)
data = torch.tensor(points, dtype=torch.float32)
loader = DataLoader(TensorDataset(data), batch_size=100, shuffle=True)

flow = RealNVP()
optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3)

nll = []
for epoch in range(15):
    flow.train()
    running = 0.0
    for (x,) in loader:
        optimizer.zero_grad()
        loss = flow.log_prob(x).mean()
        loss.backward()
        optimizer.step()
        running += loss.item()
    nll.append(running / len(loader))
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: nll {nll[-1]:.3f}")

flow.eval()
samples = flow.sample(500)
print("sample mean", samples.mean(0).tolist())
print("sample std", samples.std(0).tolist())
