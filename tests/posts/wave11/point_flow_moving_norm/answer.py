import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class MovingNorm(nn.Module):
    """Invertible normalisation with running statistics for a flow."""

    def __init__(self, num_features, eps=1e-4, decay=0.1):
        super().__init__()
        self.eps = eps
        self.decay = decay
        self.weight = nn.Parameter(torch.zeros(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer('running_mean', torch.zeros(num_features))
        self.register_buffer('running_var', torch.ones(num_features))

    def forward(self, x, log_det, reverse=False):
        num_channels = x.size(-1)
        if self.training and not reverse:
            flat = x.detach().transpose(0, 1).reshape(num_channels, -1)
            self.running_mean += self.decay * (flat.mean(dim=1) - self.running_mean)
            self.running_var += self.decay * (flat.var(dim=1) - self.running_var)
        mean, var = self.running_mean.clone(), self.running_var.clone() + self.eps
        log_scale = self.weight - 0.5 * torch.log(var)
        if reverse:
            return (x - self.bias) * torch.exp(-log_scale) + mean, log_det - log_scale.sum()
        return (x - mean) * torch.exp(log_scale) + self.bias, log_det + log_scale.sum()


class Coupling(nn.Module):
    def __init__(self, zdim, hidden, keep):
        super().__init__()
        mask = torch.zeros(3)
        mask[keep] = 1
        self.register_buffer('mask', mask)
        self.net = nn.Sequential(
            nn.Linear(3 + zdim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 6))

    def forward(self, x, z, log_det, reverse=False):
        z = z.unsqueeze(1).expand(-1, x.size(1), -1)
        s, t = self.net(torch.cat([x * self.mask, z], dim=-1)).chunk(2, dim=-1)
        s = torch.tanh(s) * (1 - self.mask)
        t = t * (1 - self.mask)
        if reverse:
            return (x - t) * torch.exp(-s), log_det - s.sum(-1)
        return x * torch.exp(s) + t, log_det + s.sum(-1)


class Encoder(nn.Module):
    def __init__(self, zdim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(3, 64, 1), nn.ReLU(), nn.Conv1d(64, 128, 1))
        self.fc = nn.Linear(128, zdim)

    def forward(self, x):
        return self.fc(self.conv(x.transpose(1, 2)).max(dim=-1)[0])


class PointSetFlow(nn.Module):
    def __init__(self, zdim=16, hidden=64, steps=3):
        super().__init__()
        self.encoder = Encoder(zdim)
        self.norm_in = MovingNorm(3)
        self.couplings = nn.ModuleList([Coupling(zdim, hidden, i % 3) for i in range(steps)])

    def forward(self, x):
        b, n, d = x.shape
        z = self.encoder(x)
        y, log_det = self.norm_in(x.reshape(b * n, d), torch.zeros(b * n))
        y, log_det = y.view(b, n, d), log_det.view(b, n)
        for layer in self.couplings:
            y, log_det = layer(y, z, log_det)
        log_py = -0.5 * (y ** 2 + math.log(2 * math.pi)).sum(-1)
        return -(log_py + log_det).mean()

    @torch.no_grad()
    def decode(self, z, num_points):
        y, log_det = torch.randn(z.size(0), num_points, 3), torch.zeros(z.size(0), num_points)
        for layer in reversed(self.couplings):
            y, log_det = layer(y, z, log_det, reverse=True)
        return self.norm_in(y, log_det, reverse=True)[0]


def make_clouds(count, num_points):
    angle = torch.rand(count, num_points) * 2 * math.pi
    height = torch.rand(count, num_points) * 4 + 6
    ring = torch.stack([torch.cos(angle), 0.3 * torch.sin(angle) - 2, height], dim=-1)
    return ring + 0.02 * torch.randn_like(ring)


clouds = make_clouds(64, 256)
model = PointSetFlow()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    total = 0.0
    for points in clouds.split(16):
        loss = model(points)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print('epoch %d nll per point %.3f' % (epoch, total / 4))

model.eval()
samples = model.decode(model.encoder(clouds[:4]), 128)
print('running mean', model.norm_in.running_mean.tolist())
print('sample mean', samples.mean(dim=(0, 1)).tolist())
