import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class EnBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(cin, cout, 3, padding=1), nn.InstanceNorm3d(cout), nn.LeakyReLU(0.01),
                                  nn.Conv3d(cout, cout, 3, padding=1), nn.InstanceNorm3d(cout), nn.LeakyReLU(0.01))
        self.skip = nn.Conv3d(cin, cout, 1)

    def forward(self, x):
        return self.body(x) + self.skip(x)


class UNet3D_g(nn.Module):
    def __init__(self, in_channels=4, out_channels=4, f=8):
        super().__init__()
        self.c1, self.c2 = EnBlock(in_channels, f), EnBlock(f, f * 2)
        self.c3, self.c4 = EnBlock(f * 2, f * 4), EnBlock(f * 4, f * 8)
        self.ds1 = nn.Conv3d(f, f, 3, stride=2, padding=1)
        self.ds2 = nn.Conv3d(f * 2, f * 2, 3, stride=2, padding=1)
        self.ds3 = nn.Conv3d(f * 4, f * 4, 3, stride=2, padding=1)
        self.up3 = nn.ConvTranspose3d(f * 8, f * 4, 2, stride=2)
        self.up2 = nn.ConvTranspose3d(f * 4, f * 2, 2, stride=2)
        self.up1 = nn.ConvTranspose3d(f * 2, f, 2, stride=2)
        self.out = nn.Conv3d(f, out_channels, 1)

    def forward(self, x):
        c1 = self.c1(x)
        c2 = self.c2(self.ds1(c1))
        c3 = self.c3(self.ds2(c2))
        c4 = self.c4(self.ds3(c3))
        u4 = self.up3(c4)
        d3 = u4 + c3
        d2 = self.up2(d3) + c2
        d1 = self.up1(d2) + c1
        return self.out(d1)


class BratsPretrain(Dataset):
    """four modalities, one of them hidden, and random blocks erased"""

    def __init__(self, n, slices, side):
        self.volumes = F.pad(torch.randn(n, 4, slices, side, side), (0, 0, 0, 0, 0, -slices % 8))

    def __len__(self):
        return len(self.volumes)

    def __getitem__(self, i):
        full = self.volumes[i]
        masked = full.clone()
        masked[torch.randint(0, 4, (1,))] = 0
        masked[:, :, ::8, ::8] = 0
        return masked, full


parser = argparse.ArgumentParser()
parser.add_argument('--slices', type=int, default=18)
parser.add_argument('--side', type=int, default=64)
parser.add_argument('--epochs', type=int, default=1)
args = parser.parse_args()

torch.manual_seed(0)
loader = DataLoader(BratsPretrain(3, args.slices, args.side), batch_size=1, shuffle=True)
model = UNet3D_g()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for epoch in range(args.epochs):
    for step, (masked, full) in enumerate(loader):
        restored = model(masked)
        loss = F.mse_loss(restored, full)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f'epoch {epoch} step {step} loss {loss.item():.4f}')
