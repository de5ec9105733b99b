# tiny DDPM on 16x16 sprites, written along with a blog post
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
T = 200
betas = torch.linspace(1e-4, 0.03, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, dim=0)


def sprites(n):
    """white rectangles and crosses on black, scaled to [-1, 1]"""
    img = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        r, c = torch.randint(2, 8, (2,)).tolist()
        h, w = torch.randint(3, 7, (2,)).tolist()
        if i % 2:
            img[i, 0, r:r + h, c:c + w] = 1
        else:
            img[i, 0, r + h // 2, c:c + w] = 1
            img[i, 0, r:r + h, c + w // 2] = 1
    return img * 2 - 1


def time_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / (half - 1))
    args = t[:, None] * freqs
    return torch.cat([args.sin(), args.cos()], dim=-1)


class Block(nn.Module):
    def __init__(self, c_in, c_out, t_dim):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, padding=1)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1)
        self.norm = nn.GroupNorm(4, c_out)
        self.t_proj = nn.Linear(t_dim, c_out)

    def forward(self, x, t_emb):
        h = F.silu(self.conv1(x)) + self.t_proj(t_emb)[:, :, None, None]
        return F.silu(self.norm(self.conv2(h)))


class Denoiser(nn.Module):
    def __init__(self, ch=24, t_dim=32):
        super().__init__()
        self.t_dim = t_dim
        self.t_mlp = nn.Sequential(nn.Linear(t_dim, t_dim), nn.SiLU(), nn.Linear(t_dim, t_dim))
        self.down1 = Block(1, ch, t_dim)
        self.down2 = Block(ch, 2 * ch, t_dim)
        self.up = Block(3 * ch, ch, t_dim)
        self.out = nn.Conv2d(ch, 1, 1)

    def forward(self, x, t):
        t_emb = self.t_mlp(time_embedding(t, self.t_dim))
        h1 = self.down1(x, t_emb)
        h2 = self.down2(F.avg_pool2d(h1, 2), t_emb)
        h = torch.cat([F.interpolate(h2, scale_factor=2), h1], dim=1)
        return self.out(self.up(h, t_emb))


def q_sample(x0, t, noise):
    a = abar[t].view(-1, 1, 1, 1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


@torch.no_grad()
def sample(model, n):
    model.eval()
    x = torch.randn(n, 1, 16, 16)
    for i in reversed(range(T)):
        t = torch.full((n,), i)
        eps = model(x, t)
        x = (x - betas[i] / (1 - abar[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x.clamp(-1, 1)


data = sprites(512)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    losses = []
    for x0 in data[torch.randperm(len(data))].split(64):
        t = torch.randint(0, T, (x0.size(0),))
        noise = torch.randn_like(x0)
        loss = F.mse_loss(model(q_sample(x0, t, noise), t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f'epoch {epoch}  loss {sum(losses) / len(losses):.4f}')

imgs = sample(model, 4)
print('white pixels per sprite:', (imgs > 0).sum(dim=(1, 2, 3)).tolist())
