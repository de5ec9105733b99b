"""Unpaired translation of coarse temperature fields to fine-model temperature fields."""
import argparse
import dataclasses
from typing import Callable, List

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


@dataclasses.dataclass
class CriticConfig:
    n_convolutions: int = 2
    kernel_size: int = 4
    max_filters: int = 32


def strided_convolution(in_channels, out_channels, kernel_size, bias=True):
    return nn.Conv2d(in_channels, out_channels, kernel_size, stride=2,
                     padding=kernel_size // 2 - 1, padding_mode="circular", bias=bias)


class ConvBlock(nn.Module):
    def __init__(self, in_channels, out_channels, conv: Callable, activation: nn.Module):
        super().__init__()
        self.block = nn.Sequential(
            conv(in_channels, out_channels),
            nn.InstanceNorm2d(out_channels),
            activation,
        )

    def forward(self, x):
        return self.block(x)


class Critic(nn.Module):
    """PatchGAN critic: a stack of strided convolutions, then a one-channel map of scores."""

    def __init__(self, in_channels: int, config: CriticConfig):
        super().__init__()
        filters = [config.max_filters // 2 ** (config.n_convolutions - 1 - i) for i in range(config.n_convolutions)]
        conv = lambda i, o: strided_convolution(i, o, config.kernel_size)
        layers: List[nn.Module] = [
            ConvBlock(in_channels, filters[0], conv, nn.LeakyReLU(0.2, inplace=True)),
        ]
        for n_in, n_out in zip(filters[:-1], filters[1:]):
            layers.append(ConvBlock(n_in, n_out, conv, nn.LeakyReLU(0.2, inplace=True)))
        layers.append(nn.Conv2d(filters[-1], 1, 3, padding=1, padding_mode="circular"))
        self.sequential = nn.Sequential(*layers)

    def forward(self, x):
        return self.sequential(x)


class Generator(nn.Module):
    def __init__(self, channels, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1, padding_mode="circular"), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, padding_mode="circular"), nn.ReLU(),
            nn.Conv2d(width, channels, 3, padding=1, padding_mode="circular"),
        )

    def forward(self, x):
        return x + self.net(x)


def make_fields(n, size, mean, std, seed):
    rng = np.random.default_rng(seed)
    noise = torch.from_numpy(rng.standard_normal((n, 2, size, size))).float()
    smooth = F.avg_pool2d(F.pad(noise, (2, 2, 2, 2), mode="circular"), 5, stride=1)
    smooth = (smooth - smooth.mean()) / smooth.std()
    level = torch.from_numpy(rng.normal(0.0, 0.2, (n, 2, 1, 1))).float()
    return mean + level + std * smooth


def train(args):
    torch.manual_seed(args.seed)
    coarse = make_fields(64, args.size, mean=0.0, std=1.0, seed=1)
    fine = make_fields(64, args.size, mean=1.5, std=2.0, seed=2)

    gen_ab, gen_ba = Generator(2), Generator(2)
    critic_a, critic_b = Critic(2, CriticConfig()), Critic(2, CriticConfig())
    gen_opt = torch.optim.Adam([*gen_ab.parameters(), *gen_ba.parameters()], lr=args.lr, betas=(0.5, 0.999))
    critic_opt = torch.optim.Adam([*critic_a.parameters(), *critic_b.parameters()], lr=args.lr, betas=(0.5, 0.999))

    def score(value, is_real):
        return F.mse_loss(value, torch.full_like(value, 1.0 if is_real else 0.0))

    for epoch in range(args.epochs):
        order_a, order_b = torch.randperm(len(coarse)), torch.randperm(len(fine))
        for ia, ib in zip(order_a.split(args.batch_size), order_b.split(args.batch_size)):
            real_a, real_b = coarse[ia], fine[ib]
            fake_b, fake_a = gen_ab(real_a), gen_ba(real_b)
            gan_loss = score(critic_b(fake_b), True) + score(critic_a(fake_a), True)
            cycle_loss = F.l1_loss(gen_ba(fake_b), real_a) + F.l1_loss(gen_ab(fake_a), real_b)
            gen_opt.zero_grad()
            (gan_loss + args.cycle_weight * cycle_loss).backward()
            gen_opt.step()

            critic_loss = (score(critic_b(real_b), True) + score(critic_b(fake_b.detach()), False)
                           + score(critic_a(real_a), True) + score(critic_a(fake_a.detach()), False))
            critic_opt.zero_grad()
            critic_loss.backward()
            critic_opt.step()
        print(f"epoch {epoch}: gan {gan_loss.item():.3f} cycle {cycle_loss.item():.3f} critic {critic_loss.item():.3f}")

    with torch.no_grad():
        generated = gen_ab(coarse)
    print(f"fine model:  mean {fine.mean():.2f} std {fine.std():.2f}")
    print(f"generated:   mean {generated.mean():.2f} std {generated.std():.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--cycle-weight", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())
