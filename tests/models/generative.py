"""Models that make something: autoencoders, adversaries, flows, diffusion."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import case


@case
def generator():
    return nn.Sequential(
        nn.Unflatten(1, (16, 1, 1)),
        nn.ConvTranspose2d(16, 16, 4, 1, 0, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(True),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
        nn.InstanceNorm2d(8, affine=True),
        nn.LeakyReLU(0.2, inplace=True),
        nn.ConvTranspose2d(8, 3, 4, 2, 1, output_padding=1),
        nn.Tanh(),
    ), torch.randn(3, 16)


@case
def discriminator():
    return nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 8, 4, 2, 1)),
        nn.LeakyReLU(0.2),
        nn.Conv2d(8, 16, 4, 2, 1),
        nn.GroupNorm(4, 16),
        nn.Dropout2d(0.3),
        nn.Flatten(),
        nn.LazyLinear(1),
    ), torch.randn(2, 3, 16, 16)


class Variational(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Linear(20, 16)
        self.decode = nn.Linear(8, 20)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encode(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(-1)
        return self.decode(z), z, divergence.mean()


@case
def variational_autoencoder():
    return Variational(), torch.randn(5, 20)


class Quantised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Embedding(12, 6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat = x.reshape(-1, 6)
        nearest = torch.cdist(flat, self.codes.weight).argmin(1)
        chosen = self.codes(nearest).view_as(x)
        loss = F.mse_loss(chosen.detach(), x) + 0.25 * F.mse_loss(chosen, x.detach())
        return x + (chosen - x).detach(), nearest.view(x.shape[:-1]), loss


@case
def vector_quantiser():
    return Quantised(), torch.randn(2, 4, 6)


class Coupling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept, changed = x.split([4, 4], dim=1)
        scale, shift = self.net(kept).tensor_split(2, dim=1)
        y = torch.hstack((kept, changed * scale.exp() + shift))
        return y.flip(1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Coupling() for _ in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, determinant = layer(x)
            total = total + determinant
        return x, -0.5 * (x.square() + math.log(2 * math.pi)).sum(1) + total


@case
def normalising_flow():
    return Flow(), torch.randn(7, 8)


class Denoiser(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.time = nn.Sequential(
            nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)
        self.last = nn.Conv2d(width, 3, 3, padding=1)
        betas = torch.linspace(1e-4, 0.02, 50)
        self.register_buffer("alphas", (1 - betas).cumprod(0), persistent=False)

    def forward(self, x: Tensor, step: Tensor) -> Tensor:
        signal = self.alphas[step].sqrt()[:, None, None, None]
        noisy = signal * x + (1 - signal**2).sqrt() * torch.randn_like(x)
        frequency = torch.exp(-math.log(1e4) * torch.arange(8) / 8)
        angle = step[:, None].float() * frequency
        time = self.time(torch.cat((angle.sin(), angle.cos()), -1))
        h = self.norm(self.first(noisy)) + time[..., None, None]
        return F.mse_loss(self.last(F.silu(h)), x, reduction="none").mean((1, 2, 3))


@case
def diffusion_step():
    return Denoiser(), torch.randn(3, 3, 8, 8), torch.tensor([0, 10, 49])


class Modulated(nn.Module):
    """Adaptive instance normalisation: statistics of one image put onto another."""

    def forward(self, content: Tensor, style: Tensor) -> Tensor:
        deviation, mean = torch.std_mean(content, dim=(2, 3), keepdim=True)
        style_deviation = style.std((2, 3), keepdim=True)
        style_mean = style.mean((2, 3), keepdim=True)
        return (content - mean) / (deviation + 1e-5) * style_deviation + style_mean


@case
def adaptive_instance_norm():
    return Modulated(), torch.randn(2, 4, 8, 8), torch.randn(2, 4, 6, 6)


class Sampler(nn.Module):
    """Greedy generation with a cache that grows by one each step."""

    def __init__(self, vocabulary: int = 11, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, start: Tensor, steps: int = 4) -> Tensor:
        tokens = [start]
        keys: list[Tensor] = []
        values: list[Tensor] = []
        for _ in range(steps):
            x = self.embed(tokens[-1])
            keys.append(self.key(x))
            values.append(self.value(x))
            score = torch.stack(keys, 1) @ x.unsqueeze(-1)
            mixed = (score.softmax(1) * torch.stack(values, 1)).sum(1)
            tokens.append((mixed @ self.embed.weight.t()).argmax(-1))
        return torch.stack(tokens, -1)


@case
def greedy_sampler():
    return Sampler(), torch.tensor([1, 2]), {"steps": 3}
