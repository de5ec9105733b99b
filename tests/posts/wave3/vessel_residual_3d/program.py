import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class ResEncoder3d(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv1 = nn.Conv3d(in_ch, out_ch, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm3d(out_ch)
        self.conv2 = nn.Conv3d(out_ch, out_ch, kernel_size=3, padding=1)
        self.bn2 = nn.BatchNorm3d(out_ch)
        self.relu = nn.ReLU(inplace=False)
        self.conv1x1 = nn.Conv3d(in_ch, out_ch, kernel_size=1)

    def forward(self, x):
        residual = self.conv1x1(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out += residual
        out = self.relu(out)
        return out


class VesselNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1 = ResEncoder3d(1, 8)
        self.enc2 = ResEncoder3d(8, 16)
        self.bottom = ResEncoder3d(16, 32)
        self.pool = nn.MaxPool3d(2)
        self.up2 = nn.ConvTranspose3d(32, 16, 2, stride=2)
        self.dec2 = ResEncoder3d(32, 16)
        self.up1 = nn.ConvTranspose3d(16, 8, 2, stride=2)
        self.dec1 = ResEncoder3d(16, 8)
        self.final = nn.Conv3d(8, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        b = self.bottom(self.pool(e2))
        d2 = self.dec2(torch.cat([e2, self.up2(b)], dim=1))
        d1 = self.dec1(torch.cat([e1, self.up1(d2)], dim=1))
        return torch.sigmoid(self.final(d1))


class Patches(Dataset):
    def __init__(self, n=5, side=32):
        self.volumes = torch.rand(n, 1, side, side, side)

    def __len__(self):
        return len(self.volumes)

    def __getitem__(self, i):
        v = self.volumes[i]
        return v, (v > 0.9).float()


def dice_loss(pred, gt, smooth=1.0):
    inter = (pred * gt).sum()
    return 1 - (2 * inter + smooth) / (pred.sum() + gt.sum() + smooth)


net = VesselNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-4, weight_decay=5e-4)
loader = DataLoader(Patches(), batch_size=2, shuffle=True)
for epoch in range(1):
    for vol, gt in loader:
        pred = net(vol)
        loss = F.binary_cross_entropy(pred, gt) + dice_loss(pred, gt)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f'epoch {epoch} loss {loss.item():.4f}')
