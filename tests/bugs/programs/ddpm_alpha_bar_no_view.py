import torch
import torch.nn as nn
from dataclasses import dataclass, field


@dataclass
class DiffusionConfig:
    timesteps: int = 100
    beta_start: float = 1e-4
    beta_end: float = 0.02
    channels: list = field(default_factory=lambda: [16, 32])


class TinyDenoiser(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        c0, c1 = cfg.channels
        self.time = nn.Embedding(cfg.timesteps, c1)
        self.inp = nn.Conv2d(1, c0, 3, padding=1)
        self.down = nn.Conv2d(c0, c1, 4, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(c1, c0, 4, stride=2, padding=1)
        self.out = nn.Conv2d(2 * c0, 1, 3, padding=1)

    def forward(self, x, t):
        a = torch.relu(self.inp(x))
        b = torch.relu(self.down(a) + self.time(t)[:, :, None, None])
        c = torch.relu(self.up(b))
        return self.out(torch.cat([a, c], dim=1))


class Model(nn.Module):
    def __init__(self, cfg=DiffusionConfig()):
        super().__init__()
        self.net = TinyDenoiser(cfg)
        betas = torch.linspace(cfg.beta_start, cfg.beta_end, cfg.timesteps)
        self.register_buffer("alpha_bar", torch.cumprod(1 - betas, dim=0))

    def q_sample(self, x0, t, noise):
        ab = self.alpha_bar[t].view(-1, 1, 1, 1)
        return ab.sqrt() * x0 + (1 - ab).sqrt() * noise

    def forward(self, x0, t, noise):
        xt = self.q_sample(x0, t, noise)
        eps = self.net(xt, t)
        denoised = xt - (1 - self.alpha_bar[t]).sqrt() * eps
        return nn.functional.mse_loss(eps, noise), denoised


def example_inputs():
    return torch.randn(6, 1, 28, 28), torch.arange(6) * 10, torch.randn(6, 1, 28, 28)
