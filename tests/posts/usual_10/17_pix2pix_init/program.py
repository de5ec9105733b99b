import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class EdgesToShapes(Dataset):
    def __init__(self, n=64, size=32, seed=0):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:size, :size]
        self.a = np.zeros((n, 1, size, size), np.float32)
        self.b = np.zeros((n, 3, size, size), np.float32)
        for i in range(n):
            cy, cx = rng.integers(10, size - 10, 2)
            d = np.hypot(yy - cy, xx - cx)
            r = rng.uniform(4, 9)
            self.a[i, 0] = np.abs(d - r) < 1
            self.b[i] = (d < r)[None] * rng.choice([[1, 0.2, 0.2], [0.2, 0.2, 1]]).reshape(3, 1, 1)

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return torch.from_numpy(self.a[i]) * 2 - 1, torch.from_numpy(self.b[i]) * 2 - 1


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, down=True, act=True):
        super().__init__()
        conv = nn.Conv2d(cin, cout, 4, 2, 1, bias=False) if down else nn.ConvTranspose2d(cin, cout, 4, 2, 1, bias=False)
        self.block = nn.Sequential(conv, nn.BatchNorm2d(cout), nn.LeakyReLU(0.2) if down else nn.ReLU())

    def forward(self, x):
        return self.block(x)


class Generator(nn.Module):
    def __init__(self, nf=16):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, nf, 4, 2, 1), nn.LeakyReLU(0.2))
        self.d2 = ConvBlock(nf, nf * 2)
        self.d3 = ConvBlock(nf * 2, nf * 4)
        self.u3 = ConvBlock(nf * 4, nf * 2, down=False)
        self.u2 = ConvBlock(nf * 4, nf, down=False)
        self.u1 = nn.Sequential(nn.ConvTranspose2d(nf * 2, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        d1 = self.d1(x)
        d2 = self.d2(d1)
        d3 = self.d3(d2)
        u3 = self.u3(d3)
        u2 = self.u2(torch.cat([u3, d2], 1))
        return self.u1(torch.cat([u2, d1], 1))


class PatchDiscriminator(nn.Module):
    def __init__(self, nf=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(4, nf, 4, 2, 1), nn.LeakyReLU(0.2),
            ConvBlock(nf, nf * 2),
            nn.Conv2d(nf * 2, 1, 3, 1, 1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], 1))


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm2d") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0.0)


torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
netG = Generator().to(device).apply(weights_init)
netD = PatchDiscriminator().to(device).apply(weights_init)
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce, l1 = nn.BCEWithLogitsLoss(), nn.L1Loss()
loader = DataLoader(EdgesToShapes(), batch_size=8, shuffle=True)

for epoch in range(3):
    for a, b in loader:
        a, b = a.to(device), b.to(device)
        fake = netG(a)

        real_out, fake_out = netD(a, b), netD(a, fake.detach())
        lossD = 0.5 * (bce(real_out, torch.ones_like(real_out)) + bce(fake_out, torch.zeros_like(fake_out)))
        optD.zero_grad()
        lossD.backward()
        optD.step()

        out = netD(a, fake)
        lossG = bce(out, torch.ones_like(out)) + 100 * l1(fake, b)
        optG.zero_grad()
        lossG.backward()
        optG.step()
    print(f"[{epoch + 1}/3] D {lossD.item():.3f} G {lossG.item():.3f}")
