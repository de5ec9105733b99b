import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class NoiseModel(nn.Module):
    def __init__(self, dim=2, width=96):
        super().__init__()
        self.width = width
        self.inp = nn.Linear(dim, width)
        self.time = nn.Linear(width, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, t):
        return self.body(self.inp(x) + self.time(timestep_embedding(t, self.width)))


class Diffusion:
    def __init__(self, model, num_timesteps=400):
        self.model = model
        self.num_timesteps = num_timesteps
        betas = np.linspace(1e-4 ** 0.5, 0.04 ** 0.5, num_timesteps) ** 2
        self.alphas_cumprod = torch.tensor(np.cumprod(1 - betas), dtype=torch.float32)

    def loss(self, x0):
        t = torch.randint(0, self.num_timesteps, (x0.shape[0],))
        noise = torch.randn_like(x0)
        a = self.alphas_cumprod[t][:, None]
        return F.mse_loss(self.model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)


class DDIMSampler:
    def __init__(self, diffusion):
        self.diffusion = diffusion

    def make_schedule(self, num_steps):
        stride = self.diffusion.num_timesteps // num_steps
        self.timesteps = np.arange(0, self.diffusion.num_timesteps, stride) + 1
        alphas = self.diffusion.alphas_cumprod
        self.alphas = alphas[self.timesteps]
        self.alphas_prev = torch.cat([alphas[:1], self.alphas[:-1]])

    @torch.no_grad()
    def encode(self, x0, t_enc):
        x = x0
        for i in tqdm(range(t_enc), desc="Encoding", disable=True):
            t = torch.full((x0.shape[0],), i, dtype=torch.long)
            eps = self.diffusion.model(x, t)
            a_next, a = self.alphas[i], self.alphas_prev[i]
            x = (a_next / a).sqrt() * x + a_next.sqrt() * ((1 / a_next - 1).sqrt() - (1 / a - 1).sqrt()) * eps
        return x

    @torch.no_grad()
    def decode(self, x_latent, t_start):
        x = x_latent
        for index, step in reversed(list(enumerate(self.timesteps[:t_start]))):
            ts = torch.full((x.shape[0],), int(step), dtype=torch.long)
            eps = self.diffusion.model(x, ts)
            a, a_prev = self.alphas[index], self.alphas_prev[index]
            pred_x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
            x = a_prev.sqrt() * pred_x0 + (1 - a_prev).sqrt() * eps
        return x


def two_moons(n):
    phi = torch.rand(n) * math.pi
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, phi.cos(), 1 - phi.cos()) - 0.5
    y = torch.where(upper, phi.sin(), 0.5 - phi.sin()) - 0.25
    return torch.stack([x, y], dim=1) + 0.05 * torch.randn(n, 2)


if __name__ == "__main__":
    torch.manual_seed(23)
    diffusion = Diffusion(NoiseModel())
    optimizer = torch.optim.Adam(diffusion.model.parameters(), lr=2e-3)
    for it in range(1500):
        loss = diffusion.loss(two_moons(256))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 500 == 499:
            print(f"iter {it + 1} loss {loss.item():.4f}")

    sampler = DDIMSampler(diffusion)
    sampler.make_schedule(50)
    x0 = two_moons(500)
    latent = sampler.encode(x0, t_enc=50)
    recon = sampler.decode(latent, t_start=50)
    print("latent std", latent.std(0))
    print("reconstruction error", (recon - x0).norm(dim=1).mean().item())
