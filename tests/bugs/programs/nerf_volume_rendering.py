import torch
from torch import nn
import torch.nn.functional as F


def encode(x, n_freq=4):
    freq = 2.0 ** torch.arange(n_freq, device=x.device)
    ang = (x[..., None] * freq).flatten(-2)
    return torch.cat([x, ang.sin(), ang.cos()], dim=-1)


def render(sigma, rgb, depth):
    gap = depth[:, 1:] - depth[:, :-1]
    gap = torch.cat([gap, torch.full_like(gap[:, :1], 1e10)], dim=-1)
    alpha = 1 - torch.exp(-sigma * gap)
    ones = torch.ones_like(alpha[:, :1])
    trans = torch.cumprod(torch.cat([ones, 1 - alpha + 1e-10], -1), -1)[:, :-1]
    w = alpha * trans
    return (w[..., None] * rgb).sum(1), (w * depth).sum(-1), w


def resample(depth, w, n):
    mid = 0.5 * (depth[:, 1:] + depth[:, :-1])
    pdf = w[:, 1:-1] + 1e-5
    cdf = torch.cumsum(pdf / pdf.sum(-1, keepdim=True), -1)
    cdf = torch.cat([torch.zeros_like(cdf[:, :1]), cdf], -1)
    u = torch.linspace(0.05, 0.95, n, device=w.device).expand(w.size(0), n).contiguous()
    hi = torch.searchsorted(cdf, u, right=True).clamp(max=cdf.size(-1) - 1)
    lo = (hi - 1).clamp(min=0)
    pair = torch.stack([lo, hi], dim=-1)
    c = cdf.unsqueeze(1).expand(-1, n, -1).gather(2, pair)
    b = mid.unsqueeze(1).expand(-1, n, -1).gather(2, pair)
    t = (u - c[..., 0]) / (c[..., 1] - c[..., 0]).clamp_min(1e-5)
    return b[..., 0] + t * (b[..., 1] - b[..., 0])


class Model(nn.Module):
    def __init__(self, n_coarse=16, n_fine=6, width=32):
        super().__init__()
        self.n_coarse, self.n_fine = n_coarse, n_fine
        self.mlp = nn.Sequential(nn.Linear(3 + 24, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, origin, direction):
        t = torch.linspace(2.0, 6.0, self.n_coarse, device=origin.device)
        depth = t.expand(origin.size(0), -1)
        pts = origin[:, None] + depth[..., None] * direction[:, None]
        raw = self.mlp(encode(pts))
        color, dist, w = render(F.relu(raw[..., 3]), raw[..., :3].sigmoid(), depth)
        return color, dist, resample(depth, w.detach(), self.n_fine)


def example_inputs():
    return torch.zeros(9, 3), F.normalize(torch.randn(9, 3), dim=-1)
