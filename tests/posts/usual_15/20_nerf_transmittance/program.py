"""A tiny radiance field fitted to silhouettes and colours of two opaque balls."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

BALLS = torch.tensor([[-0.4, 0.0, 0.0], [0.45, 0.1, -0.2]])
RADII = torch.tensor([0.35, 0.3])
COLORS = torch.tensor([[0.9, 0.2, 0.1], [0.1, 0.4, 0.9]])
NEAR, FAR, SAMPLES = 1.0, 3.0, 40


def camera_rays(n_views, size):
    rays_o, rays_d = [], []
    for k in range(n_views):
        a = 2 * math.pi * k / n_views
        origin = torch.tensor([2 * math.sin(a), 0.0, 2 * math.cos(a)])
        forward = -origin / origin.norm()
        right = torch.linalg.cross(forward, torch.tensor([0.0, 1.0, 0.0]))
        up = torch.linalg.cross(right, forward)
        v, u = torch.meshgrid(torch.linspace(0.5, -0.5, size), torch.linspace(-0.5, 0.5, size), indexing="ij")
        d = forward + u[..., None] * right + v[..., None] * up
        d = F.normalize(d, dim=-1).reshape(-1, 3)
        rays_d.append(d)
        rays_o.append(origin.expand_as(d))
    return torch.cat(rays_o), torch.cat(rays_d)


def ground_truth(o, d):
    rgb = torch.ones(len(o), 3)
    best = torch.full((len(o),), float("inf"))
    for c, r, col in zip(BALLS, RADII, COLORS):
        oc = o - c
        b = (oc * d).sum(-1)
        disc = b ** 2 - (oc ** 2).sum(-1) + r ** 2
        t = torch.where(disc > 0, -b - disc.clamp(min=0).sqrt(), torch.full_like(b, float("inf")))
        closer = t < best
        rgb[closer] = col
        best = torch.minimum(t, best)
    return rgb


class Field(nn.Module):
    def __init__(self, freqs=4, width=64):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(freqs) * math.pi / 2)
        self.trunk = nn.Sequential(
            nn.Linear(3 + 6 * freqs, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 4),
        )

    def forward(self, p):
        e = (p[..., None] * self.bands).flatten(-2)
        out = self.trunk(torch.cat([p, e.sin(), e.cos()], dim=-1))
        return F.softplus(out[..., 0] * 5), torch.sigmoid(out[..., 1:])


def render(field, o, d, jitter):
    t = torch.linspace(NEAR, FAR, SAMPLES).expand(len(o), SAMPLES)
    if jitter:
        t = t + torch.rand_like(t) * (FAR - NEAR) / SAMPLES
    points = o[:, None] + t[..., None] * d[:, None]
    sigma, rgb = field(points)
    delta = torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], (FAR - NEAR) / SAMPLES)], dim=1)
    alpha = 1.0 - torch.exp(-sigma * delta)
    transmittance = torch.cumprod(1.0 - alpha + 1e-10, dim=1)
    weights = alpha * transmittance
    color = (weights[..., None] * rgb).sum(1)
    acc = weights.sum(1)
    return color + (1.0 - acc[:, None]), acc


rays_o, rays_d = camera_rays(8, 28)
target = ground_truth(rays_o, rays_d)
field = Field()
opt = torch.optim.Adam(field.parameters(), lr=3e-3)
for step in range(501):
    idx = torch.randint(0, len(rays_o), (384,))
    color, _ = render(field, rays_o[idx], rays_d[idx], jitter=True)
    loss = F.mse_loss(color, target[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(f"step {step}  PSNR {-10 * math.log10(loss.item()):.2f} dB")

with torch.no_grad():
    o, d = camera_rays(3, 28)
    color, acc = render(field, o, d, jitter=False)
    truth = ground_truth(o, d)
    hit = (truth < 1).any(-1)
print(f"novel view PSNR {-10 * math.log10(F.mse_loss(color, truth).item()):.2f} dB")
print(f"opacity on the balls {acc[hit].mean().item():.3f}, outside {acc[~hit].mean().item():.3f}")
