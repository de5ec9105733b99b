import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=2)
parser.add_argument('--batch', type=int, default=64)
parser.add_argument('--latent', type=int, default=32)
parser.add_argument('--g-steps', type=int, default=3)
parser.add_argument('--lr', type=float, default=2e-4)
args = parser.parse_args()


def make_digits(n=640, side=28):
    """bright blobs in the middle of small gray images, scaled to [-1, 1]"""
    torch.manual_seed(5)
    ax = torch.arange(side).float()
    cx, cy = 14 + 3 * torch.randn(n, 1, 1), 14 + 3 * torch.randn(n, 1, 1)
    d = (ax[None, None, :] - cx) ** 2 + (ax[None, :, None] - cy) ** 2
    img = torch.exp(-d / (2 * (3 + torch.rand(n, 1, 1)) ** 2))
    return (img * 2 - 1).unsqueeze(1), torch.zeros(n, dtype=torch.long)


def mlp(sizes, last):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    layers += [nn.Linear(sizes[-2], sizes[-1]), last]
    return nn.Sequential(*layers)


images, digits = make_digits()
loader = DataLoader(TensorDataset(images, digits), batch_size=args.batch, shuffle=True)

generator = mlp([args.latent, 128, 256, 784], nn.Tanh())
discriminator = mlp([784, 256, 128, 1], nn.Sigmoid())
criterion = nn.BCELoss()
g_optim = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.999))
d_optim = torch.optim.Adam(discriminator.parameters(), lr=args.lr, betas=(0.5, 0.999))

for epoch in range(args.epochs):
    for i, (real, _) in enumerate(loader):
        real = real.view(-1, 784)
        n = real.size(0)
        ones, zeros = torch.ones(n), torch.zeros(n)

        for _ in range(args.g_steps):
            noise = torch.randn(n, args.latent)
            fake = generator(noise)
            g_loss = criterion(discriminator(fake).view(-1), ones)
            generator.zero_grad()
            g_loss.backward()
            g_optim.step()

        discriminator.zero_grad()
        real_loss = criterion(discriminator(real).view(-1), ones)
        fake_loss = criterion(discriminator(fake.detach()).view(-1), zeros)
        d_loss = (real_loss + fake_loss) / 2
        d_loss.backward()
        d_optim.step()

    print('epoch %d  G %.3f  D %.3f' % (epoch + 1, g_loss.item(), d_loss.item()))

with torch.no_grad():
    sample = generator(torch.randn(16, args.latent)).view(16, 28, 28)
print('samples', tuple(sample.shape), 'mean %.3f' % sample.mean().item())
