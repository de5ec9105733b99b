# line 34: the coverage compares the columns of the interval's limits (n, 1) with the true values (n,): all pairs are counted
import numpy as np
import torch
import torch.nn as nn

QUANTILES = (0.1, 0.5, 0.9)


class QuantileNet(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(32, 1) for _ in QUANTILES)

    def forward(self, x):
        h = self.body(x)
        return [head(h) for head in self.heads]


def pinball(outputs, target):
    losses = []
    for q, out in zip(QUANTILES, outputs):
        miss = target - out
        losses.append(torch.maximum(q * miss, (q - 1) * miss).mean())
    return torch.stack(losses).sum()


class IntervalReport:
    def __init__(self, model):
        self.model = model.eval()

    @torch.no_grad()
    def coverage(self, x, truth):
        low, _, high = (out.numpy() for out in self.model(x))
        inside = np.logical_and(low <= truth, truth <= high)
        return inside.mean(), (high - low).mean()


rs = np.random.RandomState(1)
features = rs.randn(700, 4).astype(np.float32)
value = (2 * features[:, 0] + np.abs(features[:, 1]) * rs.randn(700)).astype(np.float32)
torch.manual_seed(1)
x, y = torch.from_numpy(features[:500]), torch.from_numpy(value[:500, None])
net = QuantileNet(4)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(10):
    for rows in torch.randperm(500).split(50):
        opt.zero_grad()
        pinball(net(x[rows]), y[rows]).backward()
        opt.step()
covered, width = IntervalReport(net).coverage(torch.from_numpy(features[500:]), value[500:])
print(f"80% interval: covers {covered:.3f}, mean width {width:.3f}")
