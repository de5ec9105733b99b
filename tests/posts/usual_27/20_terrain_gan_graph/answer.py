import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class HeightProfiles(Dataset):
    def __init__(self, n=512, points=64):
        x = torch.linspace(0, 1, points)
        amp = torch.rand(n, 3, 1) * torch.tensor([1.0, 0.5, 0.25]).view(1, 3, 1)
        phase = torch.rand(n, 3, 1) * 2 * math.pi
        freq = torch.tensor([1.0, 2.0, 5.0]).view(1, 3, 1)
        self.heights = torch.tanh((amp * torch.sin(2 * math.pi * freq * x + phase)).sum(1))

    def __len__(self):
        return self.heights.size(0)

    def __getitem__(self, i):
        return self.heights[i]


class HeightGenerator(nn.Module):
    def __init__(self, noise=16, points=64):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(
            nn.Linear(noise, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 128), nn.LeakyReLU(0.2),
            nn.Linear(128, points), nn.Tanh(),
        )

    def sample(self, n):
        return torch.randn(n, self.noise)

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self, points=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(points, 128), nn.LeakyReLU(0.2), nn.Dropout(0.2),
            nn.Linear(128, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 1),
        )

    def forward(self, h):
        return self.net(h).squeeze(1)


def discriminator_loss(critic, real, fake):
    on_real = critic(real)
    on_fake = critic(fake)
    loss_real = F.binary_cross_entropy_with_logits(on_real, torch.ones_like(on_real))
    loss_fake = F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))
    return 0.5 * (loss_real + loss_fake)


def generator_loss(critic, fake):
    score = critic(fake)
    return F.binary_cross_entropy_with_logits(score, torch.ones_like(score))


class TerrainGAN:
    def __init__(self, lr=2e-4):
        self.generator = HeightGenerator()
        self.critic = Critic()
        self.opt_g = torch.optim.Adam(self.generator.parameters(), lr=lr, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.critic.parameters(), lr=lr, betas=(0.5, 0.999))

    def step(self, real):
        fake = self.generator(self.generator.sample(real.size(0)))

        self.opt_d.zero_grad()
        loss_d = discriminator_loss(self.critic, real, fake.detach())
        loss_d.backward()
        self.opt_d.step()

        self.opt_g.zero_grad()
        loss_g = generator_loss(self.critic, fake)
        loss_g.backward()
        self.opt_g.step()
        return loss_d.item(), loss_g.item()


torch.manual_seed(0)
loader = DataLoader(HeightProfiles(), batch_size=64, shuffle=True, drop_last=True)
gan = TerrainGAN()
for epoch in range(6):
    d_sum = g_sum = 0.0
    for real in loader:
        d, g = gan.step(real)
        d_sum += d
        g_sum += g
    print(f"epoch {epoch}: critic {d_sum / len(loader):.3f} generator {g_sum / len(loader):.3f}")

gan.generator.eval()
with torch.no_grad():
    heights = gan.generator(gan.generator.sample(4))
print("sample range", heights.min().item(), heights.max().item())
