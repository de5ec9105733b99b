import torch
import torch.nn as nn
import torch.nn.functional as F

T = 100


def ring(n):
    radius = 1.5 + 0.05 * torch.randn(n)
    angle = 6.2832 * torch.rand(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)


class Denoiser(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 32))
        self.net = nn.Sequential(
            nn.Linear(2 + 32, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t[:, None])], dim=1))


class Diffusion:
    def __init__(self, steps):
        self.steps = steps
        self.beta = torch.linspace(1e-3, 0.08, steps)
        self.alpha = 1 - self.beta
        self.alpha_bar = torch.cumprod(self.alpha, dim=0)

    def loss(self, model, x0):
        t = torch.randint(0, self.steps, (len(x0),))
        noise = torch.randn_like(x0)
        ab = self.alpha_bar[t][:, None]
        xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
        return F.mse_loss(model(xt, t.float() / self.steps), noise)

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for step in reversed(range(self.steps)):
            t = torch.full((n,), float(step))
            eps = model(x, t)
            x = (x - self.beta[step] / (1 - self.alpha_bar[step]).sqrt() * eps) / self.alpha[step].sqrt()
            if step > 0:
                x = x + self.beta[step].sqrt() * torch.randn_like(x)
        return x


def ring_error(points):
    return (points.norm(dim=1) - 1.5).abs().mean().item()


torch.manual_seed(0)
model = Denoiser()
diffusion = Diffusion(T)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2000)

running = 0.0
for step in range(1, 2001):
    loss = diffusion.loss(model, ring(256))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    running += loss.item()
    if step % 500 == 0:
        print(f"step {step}  noise mse {running / 500:.4f}")
        running = 0.0

model.eval()
samples = diffusion.sample(model, 1000)
print(f"distance to the ring: samples {ring_error(samples):.3f}, data {ring_error(ring(1000)):.3f}, "
      f"plain noise {ring_error(torch.randn(1000, 2)):.3f}")
print(f"radius of the samples: mean {samples.norm(dim=1).mean():.2f}, largest {samples.norm(dim=1).max():.2f}")
