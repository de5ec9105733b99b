import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Diffusion:
    def __init__(self, T=100, beta_start=1e-4, beta_end=0.02):
        self.T = T
        self.betas = torch.linspace(beta_start, beta_end, T)
        self.alphas = 1.0 - self.betas
        self.alphas_bar = torch.cumprod(self.alphas, dim=0)

    def q_sample(self, x0, t, noise):
        sqrt_ab = self.alphas_bar[t].sqrt().view(-1, 1, 1, 1)
        sqrt_one_minus_ab = (1.0 - self.alphas_bar[t]).sqrt().view(-1, 1, 1, 1)
        return sqrt_ab * x0 + sqrt_one_minus_ab * noise

    @torch.no_grad()
    def sample(self, model, n, shape):
        x = torch.randn(n, *shape)
        for i in reversed(range(self.T)):
            t = torch.full((n,), i)
            eps = model(x, t)
            coef = self.betas[i] / (1 - self.alphas_bar[i]).sqrt()
            x = (x - coef * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class EpsNet(nn.Module):
    def __init__(self, ch=24, tdim=32):
        super().__init__()
        self.tdim = tdim
        self.t_mlp = nn.Sequential(nn.Linear(tdim, ch), nn.SiLU(), nn.Linear(ch, ch))
        self.conv_in = nn.Conv2d(1, ch, 3, padding=1)
        self.conv_mid = nn.Conv2d(ch, ch, 3, padding=1)
        self.norm = nn.GroupNorm(4, ch)
        self.conv_out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        temb = self.t_mlp(timestep_embedding(t, self.tdim))
        h = F.silu(self.conv_in(x) + temb[:, :, None, None])
        h = F.silu(self.norm(self.conv_mid(h)) + h)
        return self.conv_out(h)


def toy_images(n, size=16):
    x = -torch.ones(n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - 6, (2,)).tolist()
        x[i, 0, r:r + 6, c:c + 6] = 1
    return x


def train(epochs=2):
    loader = DataLoader(TensorDataset(toy_images(256)), batch_size=32, shuffle=True)
    diffusion = Diffusion()
    model = EpsNet()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        for (x0,) in loader:
            t = torch.randint(0, diffusion.T, (x0.size(0),))
            noise = torch.randn_like(x0)
            x_t = diffusion.q_sample(x0, t, noise)
            loss = F.mse_loss(model(x_t, t), noise)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print('epoch', epoch, 'loss', round(loss.item(), 4))
    return diffusion, model


diffusion, model = train()
imgs = diffusion.sample(model, 4, (1, 16, 16))
print(imgs.shape, imgs.min().item(), imgs.max().item())
