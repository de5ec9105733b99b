import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freqs", torch.exp(torch.linspace(0, -6, dim // 2)))
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, t):
        a = t.float()[:, None] * self.freqs[None]
        return self.mlp(torch.cat([a.sin(), a.cos()], dim=-1))


class EpsNet(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.time = TimeEmbedding(ch)
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.mid = nn.Sequential(nn.GroupNorm(4, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1),
                                 nn.GroupNorm(4, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)[:, :, None, None]
        return self.out(h + self.mid(h))


class Diffusion:
    def __init__(self, T=200):
        self.T = T
        self.betas = torch.linspace(1e-4, 0.02, T)
        self.alpha_bar = torch.cumprod(1 - self.betas, dim=0)

    def q_sample(self, x0, t, noise):
        ab = self.alpha_bar[t].view(-1, 1, 1, 1)
        return ab.sqrt() * x0 + (1 - ab).sqrt() * noise

    def training_loss(self, model, x0):
        t = torch.randint(0, self.T, (x0.size(0),))
        noise = torch.randn_like(x0)
        x_t = self.q_sample(x0, t, noise)
        eps_pred = model(x_t, t)
        return F.mse_loss(eps_pred, noise)


if __name__ == "__main__":
    torch.manual_seed(0)
    ramp = torch.linspace(-1, 1, 12)
    imgs = (ramp[None, :] * torch.randn(256, 1)).tanh()[:, None, None, :].repeat(1, 1, 12, 1)
    loader = DataLoader(TensorDataset(imgs), batch_size=32, shuffle=True)
    model, diffusion = EpsNet(), Diffusion()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        avg = 0.0
        for (x0,) in loader:
            loss = diffusion.training_loss(model, x0)
            opt.zero_grad()
            loss.backward()
            opt.step()
            avg += loss.item() / len(loader)
        print(f"epoch {epoch} loss {avg:.4f}")
