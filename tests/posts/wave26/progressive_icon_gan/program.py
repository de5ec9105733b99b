import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class StyleBlock(nn.Module):
    def __init__(self, in_channels, out_channels, style_dim):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.style = nn.Linear(style_dim, out_channels * 2)

    def forward(self, x, style):
        x = self.conv(x)
        x = F.instance_norm(x)
        scale, shift = self.style(style).unsqueeze(-1).unsqueeze(-1).chunk(2, dim=1)
        return F.leaky_relu(x * (1 + scale) + shift, 0.2)


class Generator(nn.Module):
    """Progressive generator: step 0 gives 4x4 images, every further step doubles the side."""

    def __init__(self, style_dim=32, channels=24, max_step=4):
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(style_dim, style_dim), nn.LeakyReLU(0.2), nn.Linear(style_dim, style_dim))
        self.constant = nn.Parameter(torch.randn(1, channels, 4, 4))
        self.progression = nn.ModuleList([StyleBlock(channels, channels, style_dim) for _ in range(max_step + 1)])
        self.to_rgb = nn.ModuleList([nn.Conv2d(channels, 3, 1) for _ in range(max_step + 1)])

    def forward(self, latent, step):
        style = self.mapping(latent)
        out = self.constant.expand(latent.size(0), -1, -1, -1)
        for i in range(step + 1):
            if i > 0:
                out = F.interpolate(out, scale_factor=2, mode="nearest")
            out = self.progression[i](out, style)
        return torch.tanh(self.to_rgb[step](out))


def size_to_step(size):
    return int(math.log2(size)) - 2


def real_icons(count, size):
    colour = torch.tensor([0.8, -0.2, -0.7]).view(1, 3, 1, 1)
    return (colour + 0.05 * torch.randn(count, 3, size, size)).clamp(-1, 1)


def train(generator, size, iterations):
    step = size_to_step(size)
    critic = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 1))
    g_optim = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.99))
    d_optim = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.99))
    for _ in range(iterations):
        real = real_icons(16, size)
        fake = generator(torch.randn(16, 32), step)
        d_loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
        d_optim.zero_grad()
        d_loss.backward()
        d_optim.step()
        g_loss = F.softplus(-critic(fake)).mean() + F.l1_loss(fake.mean(0), real.mean(0))
        g_optim.zero_grad()
        g_loss.backward()
        g_optim.step()
    return g_loss.item()


@torch.no_grad()
def generate(generator, size, count):
    generator.eval()
    return generator(torch.randn(count, 32), size_to_step(size))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-size", type=int, default=16)
    parser.add_argument("--size", type=int, default=64, help="side of the generated images")
    parser.add_argument("--iterations", type=int, default=150)
    args = parser.parse_args()

    torch.manual_seed(0)
    generator = Generator()
    print(f"generator loss {train(generator, args.train_size, args.iterations):.3f}")
    images = generate(generator, args.size, count=32)
    print("images", tuple(images.shape), "mean colour", [round(v, 2) for v in images.mean((0, 2, 3)).tolist()])
