import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

T = 200
betas = torch.linspace(1e-4, 0.02, T)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, dim=0)


def extract(a, t, x):
    return a[t].view(-1, *([1] * (x.dim() - 1)))


def q_sample(x0, t, noise):
    ac = extract(alphas_cumprod, t, x0)
    return ac.sqrt() * x0 + (1 - ac).sqrt() * noise


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half) / (half - 1))
        args = t[:, None].float() * freqs[None]
        return torch.cat([args.sin(), args.cos()], dim=-1)


class Block(nn.Module):
    def __init__(self, in_ch, out_ch, time_dim):
        super().__init__()
        self.norm1 = nn.GroupNorm(8, out_ch)
        self.norm2 = nn.GroupNorm(8, out_ch)
        self.conv1 = nn.Conv2d(in_ch, out_ch, 3, padding=1)
        self.conv2 = nn.Conv2d(out_ch, out_ch, 3, padding=1)
        self.time = nn.Linear(time_dim, out_ch)

    def forward(self, x, emb):
        h = F.silu(self.norm1(self.conv1(x)))
        h = h + self.time(emb)[:, :, None, None]
        return F.silu(self.norm2(self.conv2(h)))


class UNet(nn.Module):
    def __init__(self, ch=1, base=32, mults=(1, 2, 4), time_dim=128):
        super().__init__()
        widths = [base * m for m in mults]
        self.time = nn.Sequential(SinusoidalEmbedding(base), nn.Linear(base, time_dim),
                                  nn.SiLU(), nn.Linear(time_dim, time_dim))
        self.stem = nn.Conv2d(ch, widths[0], 3, padding=1)
        self.downs = nn.ModuleList()
        self.ups = nn.ModuleList()
        for w_in, w_out in zip(widths[:-1], widths[1:]):
            self.downs.append(nn.ModuleList([
                Block(w_in, w_in, time_dim),
                nn.Conv2d(w_in, w_out, 4, stride=2, padding=1),
            ]))
        self.mid = Block(widths[-1], widths[-1], time_dim)
        for w_in, w_out in zip(reversed(widths[1:]), reversed(widths[:-1])):
            self.ups.append(nn.ModuleList([
                nn.ConvTranspose2d(w_in, w_out, 4, stride=2, padding=1),
                Block(2 * w_out, w_out, time_dim),
            ]))
        self.out = nn.Conv2d(widths[0], ch, 1)

    def forward(self, x, t):
        emb = self.time(t)
        h = self.stem(x)
        skips = []
        for block, down in self.downs:
            h = block(h, emb)
            skips.append(h)
            h = down(h)
        h = self.mid(h, emb)
        for up, block in self.ups:
            h = torch.cat([up(h), skips.pop()], dim=1)
            h = block(h, emb)
        return self.out(h)


@torch.no_grad()
def sample(model, n, size):
    model.eval()
    x = torch.randn(n, 1, size, size)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        eps = model(x, t)
        mean = (x - betas[i] / (1 - alphas_cumprod[i]).sqrt() * eps) / alphas[i].sqrt()
        x = mean + betas[i].sqrt() * torch.randn_like(x) if i > 0 else mean
    return x.clamp(-1, 1)


if __name__ == "__main__":
    torch.manual_seed(0)
    yy, xx = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    c = torch.randint(4, 12, (256, 2))
    discs = ((yy - c[:, :1, None]) ** 2 + (xx - c[:, 1:, None]) ** 2 < 9).float() * 2 - 1
    loader = DataLoader(TensorDataset(discs.unsqueeze(1)), batch_size=32, shuffle=True)
    model = UNet()
    opt = torch.optim.Adam(model.parameters(), lr=2e-4)
    for epoch in range(2):
        model.train()
        total = 0.0
        for (x0,) in loader:
            t = torch.randint(0, T, (x0.size(0),))
            noise = torch.randn_like(x0)
            loss = F.mse_loss(model(q_sample(x0, t, noise), t), noise)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * x0.size(0)
        print(f"epoch {epoch} loss {total / len(loader.dataset):.4f}")
    print("samples", tuple(sample(model, 4, 16).shape))
