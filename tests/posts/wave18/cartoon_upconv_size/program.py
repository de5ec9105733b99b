import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class PhotoCartoon(Dataset):
    def __init__(self, n=24, size=64):
        g = torch.Generator().manual_seed(0)
        base = torch.rand(n, 3, 8, 8, generator=g) * 2 - 1
        self.photo = nn.functional.interpolate(base, size=size, mode='bilinear')
        self.cartoon = nn.functional.interpolate(base, size=size, mode='nearest')

    def __len__(self):
        return len(self.photo)

    def __getitem__(self, i):
        j = (i + 7) % len(self)
        return self.photo[i], self.cartoon[j]


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, 1, 1)
        self.norm1 = nn.InstanceNorm2d(ch)
        self.conv2 = nn.Conv2d(ch, ch, 3, 1, 1)
        self.norm2 = nn.InstanceNorm2d(ch)

    def forward(self, x):
        return x + self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))


class Generator(nn.Module):
    def __init__(self, in_nc=3, out_nc=3, nf=16, nb=2):
        super().__init__()
        self.down_convs = nn.Sequential(
            nn.Conv2d(in_nc, nf, 7, 1, 3), nn.InstanceNorm2d(nf), nn.ReLU(True),
            nn.Conv2d(nf, nf * 2, 3, 2, 1), nn.Conv2d(nf * 2, nf * 2, 3, 1, 1), nn.InstanceNorm2d(nf * 2), nn.ReLU(True),
            nn.Conv2d(nf * 2, nf * 4, 3, 2, 1), nn.Conv2d(nf * 4, nf * 4, 3, 1, 1), nn.InstanceNorm2d(nf * 4), nn.ReLU(True))
        self.resnet_blocks = nn.Sequential(*[ResBlock(nf * 4) for _ in range(nb)])
        self.up_convs = nn.Sequential(
            nn.ConvTranspose2d(nf * 4, nf * 2, 3, 2, 1),
            nn.Conv2d(nf * 2, nf * 2, 3, 1, 1), nn.InstanceNorm2d(nf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(nf * 2, nf, 3, 2, 1),
            nn.Conv2d(nf, nf, 3, 1, 1), nn.InstanceNorm2d(nf), nn.ReLU(True),
            nn.Conv2d(nf, out_nc, 7, 1, 3), nn.Tanh())

    def forward(self, x):
        return self.up_convs(self.resnet_blocks(self.down_convs(x)))


class Discriminator(nn.Module):
    def __init__(self, nf=16):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, nf, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(nf, nf * 2, 3, 2, 1),
                                 nn.InstanceNorm2d(nf * 2), nn.LeakyReLU(0.2), nn.Conv2d(nf * 2, 1, 3, 1, 1))

    def forward(self, x):
        return self.net(x)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--pre_train_epoch', type=int, default=1)
    parser.add_argument('--train_epoch', type=int, default=1)
    parser.add_argument('--con_lambda', type=float, default=10)
    args = parser.parse_args()
    torch.manual_seed(0)

    loader = DataLoader(PhotoCartoon(), batch_size=4, shuffle=True)
    G, D = Generator(), Discriminator()
    G_optimizer = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    D_optimizer = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    BCE, L1 = nn.BCEWithLogitsLoss(), nn.L1Loss()

    for epoch in range(args.pre_train_epoch):
        for x, _ in loader:
            G_optimizer.zero_grad()
            recon_loss = L1(G(x), x)
            recon_loss.backward()
            G_optimizer.step()
        print(f'pre-train {epoch} recon loss {recon_loss.item():.3f}')

    for epoch in range(args.train_epoch):
        for x, y in loader:
            d_real, d_fake = D(y), D(G(x).detach())
            d_loss = BCE(d_real, torch.ones_like(d_real)) + BCE(d_fake, torch.zeros_like(d_fake))
            D_optimizer.zero_grad()
            d_loss.backward()
            D_optimizer.step()
            fake = G(x)
            d_out = D(fake)
            g_loss = BCE(d_out, torch.ones_like(d_out)) + args.con_lambda * L1(fake, x)
            G_optimizer.zero_grad()
            g_loss.backward()
            G_optimizer.step()
        print(f'train {epoch} D {d_loss.item():.3f} G {g_loss.item():.3f}')
