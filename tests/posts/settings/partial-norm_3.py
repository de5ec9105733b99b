# line 30: the norm of the DRAGAN penalty is over height and width only, so each colour channel has a norm of its own
import torch
from torch import nn


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(32 * 16, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class Generator(nn.Module):
    def __init__(self, noise=8):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, 32 * 16), nn.ReLU(), nn.Unflatten(1, (32, 4, 4)), nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())

    def sample(self, n):
        return self.net(torch.randn(n, self.noise))


def dragan_penalty(disc, real, k=1.0):
    noisy = real + 0.5 * real.std() * torch.rand_like(real)
    noisy = noisy.detach().requires_grad_(True)
    score = disc(noisy)
    grad = torch.autograd.grad(score, noisy, torch.ones_like(score), create_graph=True)[0]
    slope = torch.linalg.vector_norm(grad, dim=(2, 3))
    return torch.mean((slope - k) ** 2)


torch.manual_seed(3)
real_images = torch.tanh(torch.randn(160, 3, 1, 1) + 0.2 * torch.randn(160, 3, 16, 16))
gen, disc = Generator(), Discriminator()
opt_g = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(disc.parameters(), lr=2e-4, betas=(0.5, 0.9))
softplus = nn.functional.softplus
for epoch in range(3):
    for real in real_images[torch.randperm(160)].split(20):
        fake = gen.sample(len(real)).detach()
        d_loss = softplus(-disc(real)).mean() + softplus(disc(fake)).mean() + 10 * dragan_penalty(disc, real)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        g_loss = softplus(-disc(gen.sample(len(real)))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
    print(f"{epoch} d {d_loss.item():.3f} g {g_loss.item():.3f}")
