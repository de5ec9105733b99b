import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __init__(self, n=512, size=16):
        g = torch.Generator().manual_seed(0)
        c = torch.rand(n, 2, 1, 1, generator=g) * 1.2 - 0.6
        lin = torch.linspace(-1, 1, size)
        yy, xx = torch.meshgrid(lin, lin, indexing='ij')
        self.x = torch.exp(-((yy - c[:, :1]) ** 2 + (xx - c[:, 1:]) ** 2) * 6) * 2 - 1

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


def mini_batch_std_dev(x, group_size=4):
    b, c, h, w = x.shape
    group_size = min(group_size, b)
    if b % group_size != 0:
        group_size = b
    groups = b // group_size
    if group_size > 1:
        y = x.view(-1, groups, c, h, w)
        y = torch.var(y, 0, unbiased=True)
        y = torch.sqrt(y + 1e-8)
        y = y.view(groups, -1).mean(dim=1).view(groups, 1)
        y = y.expand(groups, h * w).view(groups, 1, 1, h, w)
        y = y.expand(-1, group_size, -1, -1, -1)
        y = y.contiguous().view(b, 1, h, w)
    else:
        y = torch.zeros(b, 1, h, w, device=x.device)
    return torch.cat([x, y], dim=1)


class Discriminator(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv1 = nn.Conv2d(1, dim, 4, 2, 1)
        self.conv2 = nn.Conv2d(dim, dim, 4, 2, 1)
        self.conv3 = nn.Conv2d(dim + 1, dim, 3, 1, 1)
        self.fc = nn.Linear(dim * 16, 1)

    def forward(self, x):
        x = F.leaky_relu(self.conv1(x), 0.2)
        x = F.leaky_relu(self.conv2(x), 0.2)
        x = mini_batch_std_dev(x)
        x = F.leaky_relu(self.conv3(x), 0.2)
        return self.fc(x.flatten(1))


class Generator(nn.Module):
    def __init__(self, z_dim=16, dim=32):
        super().__init__()
        self.z_dim = z_dim
        self.fc = nn.Linear(z_dim, dim * 16)
        self.net = nn.Sequential(nn.ConvTranspose2d(dim, dim, 4, 2, 1), nn.LeakyReLU(0.2),
                                 nn.ConvTranspose2d(dim, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.net(F.leaky_relu(self.fc(z), 0.2).view(-1, 32, 4, 4))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch_size', type=int, default=16)
    args = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(Blobs(), batch_size=args.batch_size, shuffle=True, drop_last=True)
    netG, netD = Generator(), Discriminator()
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.0, 0.99))
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.0, 0.99))
    for epoch in range(args.epochs):
        for real in loader:
            fake = netG(torch.randn(len(real), netG.z_dim))
            lossD = F.softplus(-netD(real)).mean() + F.softplus(netD(fake.detach())).mean()
            optD.zero_grad()
            lossD.backward()
            optD.step()
            lossG = F.softplus(-netD(fake)).mean()
            optG.zero_grad()
            lossG.backward()
            optG.step()
        print(f'[{epoch}] loss D {lossD.item():.3f} loss G {lossG.item():.3f}')


if __name__ == '__main__':
    main()
