import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
nz, ngf, ndf = 16, 16, 16


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
    nn.BatchNorm2d(ngf * 4),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ngf * 2),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)

netD = nn.Sequential(
    nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ndf * 2),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
    nn.Flatten(),
)

netG.apply(weights_init)
netD.apply(weights_init)

# 16x16 blobs in [-1, 1]
grid = torch.linspace(-1, 1, 16)
yy, xx = torch.meshgrid(grid, grid, indexing="ij")
cx, cy = torch.rand(2, 512, 1, 1) - 0.5
blobs = torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 0.1).unsqueeze(1) * 2 - 1
dataloader = DataLoader(TensorDataset(blobs), batch_size=64, shuffle=True)

criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(5):
    for (real,) in dataloader:
        b = real.size(0)
        real_label = torch.ones(b, 1)
        fake_label = torch.zeros(b, 1)

        # (1) update D
        noise = torch.randn(b, nz, 1, 1)
        fake = netG(noise)
        optimizerD.zero_grad()
        errD = criterion(netD(real), real_label) + criterion(netD(fake.detach()), fake_label)
        errD.backward()
        optimizerD.step()

        # (2) update G
        optimizerG.zero_grad()
        errG = criterion(netD(fake), real_label)
        errG.backward()
        optimizerG.step()

    print(f"[{epoch}] Loss_D {errD.item():.4f} Loss_G {errG.item():.4f} "
          f"mean of fakes {fake.mean().item():.3f} (real {real.mean().item():.3f})")
