import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

T = 200
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Diffusion:
    def __init__(self, timesteps=T, beta_start=1e-4, beta_end=0.02):
        self.timesteps = timesteps
        self.betas = torch.linspace(beta_start, beta_end, timesteps, device=device)
        self.alphas = 1.0 - self.betas
        self.alpha_bar = torch.cumprod(self.alphas, dim=0)

    def add_noise(self, x0, t):
        a = self.alpha_bar[t].sqrt().view(-1, 1, 1, 1)
        s = (1.0 - self.alpha_bar[t]).sqrt().view(-1, 1, 1, 1)
        noise = torch.randn_like(x0)
        return a * x0 + s * noise, noise

    def sample_t(self, n):
        return torch.randint(0, self.timesteps, (n,), device=device)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.SiLU(), nn.Linear(dim * 2, dim))

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
        args = t[:, None].float() * freqs[None]
        return self.mlp(torch.cat([args.sin(), args.cos()], dim=1))


class NoisePredictor(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.time = TimeEmbedding(ch)
        self.conv_in = nn.Conv2d(1, ch, 3, padding=1)
        self.conv_mid = nn.Sequential(
            nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1),
            nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1),
        )
        self.conv_out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.conv_in(x) + self.time(t)[:, :, None, None]
        h = h + self.conv_mid(h)
        return self.conv_out(F.silu(h))


images = torch.rand(128, 1, 28, 28) * 2 - 1
loader = DataLoader(TensorDataset(images), batch_size=32, shuffle=True, drop_last=True)

diffusion = Diffusion()
model = NoisePredictor().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)

for epoch in range(2):
    losses = []
    for (x0,) in loader:
        x0 = x0.to(device)
        t = diffusion.sample_t(x0.size(0))
        xt, noise = diffusion.add_noise(x0, t)
        pred = model(xt, t)
        loss = F.mse_loss(pred, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")
