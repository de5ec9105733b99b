import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

T = 100
IMG = 16
BATCH = 32

beta = torch.linspace(1e-4, 0.1, T)
alpha = 1.0 - beta
alpha_bar = torch.cumprod(alpha, dim=0)


def make_images(n):
    """Bright discs on a dark background, scaled to [-1, 1]."""
    yy, xx = torch.meshgrid(torch.arange(IMG), torch.arange(IMG), indexing="ij")
    centre = torch.randint(5, 11, (n, 2, 1, 1))
    dist = ((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2).float().sqrt()
    return (dist < 4).float().unsqueeze(1) * 2 - 1


def q_sample(x0, t, noise):
    ab = alpha_bar[t]
    return ab.sqrt() * x0 + (1 - ab).sqrt() * noise


class Denoiser(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.time_mlp = nn.Sequential(nn.Linear(1, ch), nn.SiLU(), nn.Linear(ch, ch))
        self.conv_in = nn.Conv2d(1, ch, 3, padding=1)
        self.conv_mid = nn.Sequential(
            nn.GroupNorm(4, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1),
            nn.GroupNorm(4, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1),
        )
        self.conv_out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        emb = self.time_mlp(t.unsqueeze(1))
        h = self.conv_in(x) + emb[:, :, None, None]
        h = h + self.conv_mid(h)
        return self.conv_out(F.silu(h))


@torch.no_grad()
def sample(model, n):
    model.eval()
    x = torch.randn(n, 1, IMG, IMG)
    for step in reversed(range(T)):
        t = torch.full((n,), step, dtype=torch.long)
        eps = model(x, t)
        mean = (x - beta[step] / (1 - alpha_bar[step]).sqrt() * eps) / alpha[step].sqrt()
        if step > 0:
            x = mean + beta[step].sqrt() * torch.randn_like(x)
        else:
            x = mean
    return x


loader = DataLoader(TensorDataset(make_images(512)), batch_size=BATCH, shuffle=True)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(4):
    model.train()
    total = 0.0
    for (x0,) in loader:
        t = torch.randint(0, T, (x0.size(0),))
        noise = torch.randn_like(x0)
        x_t = q_sample(x0, t, noise)
        loss = F.mse_loss(model(x_t, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")

images = sample(model, 4)
print("samples", tuple(images.shape), f"mean {images.mean().item():.3f} std {images.std().item():.3f}")
