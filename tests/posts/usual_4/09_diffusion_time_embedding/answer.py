import math
import torch
from torch import nn
import torch.nn.functional as F

IMG, BATCH, STEPS = 16, 32, 200
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)


def linear_beta_schedule(timesteps, start=1e-4, end=0.02):
    return torch.linspace(start, end, timesteps)


def get_index_from_list(vals, t, x_shape):
    out = vals.gather(-1, t.cpu())
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1))).to(t.device)


betas = linear_beta_schedule(STEPS)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, 0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
posterior_variance = betas * (1 - alphas_cumprod_prev) / (1 - alphas_cumprod)


def forward_diffusion_sample(x0, t):
    noise = torch.randn_like(x0)
    a = get_index_from_list(alphas_cumprod.sqrt(), t, x0.shape)
    s = get_index_from_list((1 - alphas_cumprod).sqrt(), t, x0.shape)
    return a * x0 + s * noise, noise


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half = self.dim // 2
        freqs = torch.exp(torch.arange(half, device=time.device) * -(math.log(10000) / (half - 1)))
        args = time[:, None] * freqs[None, :]
        return torch.cat((args.sin(), args.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, in_ch, out_ch, time_dim, up=False):
        super().__init__()
        self.time_mlp = nn.Linear(time_dim, out_ch)
        if up:
            self.conv1 = nn.Conv2d(2 * in_ch, out_ch, 3, padding=1)
            self.transform = nn.ConvTranspose2d(out_ch, out_ch, 4, 2, 1)
        else:
            self.conv1 = nn.Conv2d(in_ch, out_ch, 3, padding=1)
            self.transform = nn.Conv2d(out_ch, out_ch, 4, 2, 1)
        self.conv2 = nn.Conv2d(out_ch, out_ch, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(4, out_ch), nn.GroupNorm(4, out_ch)

    def forward(self, x, t):
        h = self.norm1(F.relu(self.conv1(x)))
        h = h + F.relu(self.time_mlp(t))[:, :, None, None]
        h = self.norm2(F.relu(self.conv2(h)))
        return self.transform(h)


class SimpleUnet(nn.Module):
    def __init__(self, chans=(16, 32, 64), time_dim=32):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPositionEmbeddings(time_dim), nn.Linear(time_dim, time_dim), nn.ReLU())
        self.conv0 = nn.Conv2d(1, chans[0], 3, padding=1)
        self.downs = nn.ModuleList([Block(a, b, time_dim) for a, b in zip(chans, chans[1:])])
        rev = chans[::-1]
        self.ups = nn.ModuleList([Block(a, b, time_dim, up=True) for a, b in zip(rev, rev[1:])])
        self.output = nn.Conv2d(rev[-1], 1, 1)

    def forward(self, x, timestep):
        t = self.time_mlp(timestep)
        x = self.conv0(x)
        residuals = []
        for down in self.downs:
            x = down(x, t)
            residuals.append(x)
        for up in self.ups:
            x = up(torch.cat((x, residuals.pop()), dim=1), t)
        return self.output(x)


def toy_images(n):
    xs = torch.full((n, 1, IMG, IMG), -1.0)
    for i in range(n):
        r, c = torch.randint(1, 9, (2,)).tolist()
        xs[i, :, r:r + 6, c:c + 6] = 1.0
    return xs


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 1, IMG, IMG, device=device)
    for i in reversed(range(STEPS)):
        t = torch.full((n,), i, device=device, dtype=torch.long)
        eps = model(x, t)
        x = (x - betas[i] / (1 - alphas_cumprod[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + posterior_variance[i].sqrt() * torch.randn_like(x)
    return x.clamp(-1, 1)


model = SimpleUnet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(100):
    x0 = toy_images(BATCH).to(device)
    t = torch.randint(0, STEPS, (BATCH,), device=device)
    x_noisy, noise = forward_diffusion_sample(x0, t)
    loss = F.l1_loss(model(x_noisy, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step:03d} loss {loss.item():.4f}")
model.eval()
print(sample(model, 4).mean((1, 2, 3)))
