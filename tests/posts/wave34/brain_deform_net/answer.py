import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


def conv_block(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv3d(cin, cout, 3, stride=stride, padding=1),
        nn.LeakyReLU(0.2),
    )


class RegNet(nn.Module):
    def __init__(self, ch=(8, 16, 16, 32)):
        super().__init__()
        self.enc0 = conv_block(2, ch[0])
        self.down1 = conv_block(ch[0], ch[1], stride=2)
        self.down2 = conv_block(ch[1], ch[2], stride=2)
        self.down3 = conv_block(ch[2], ch[3], stride=2)
        self.up = nn.Upsample(scale_factor=2, mode="trilinear", align_corners=False)
        self.dec2 = conv_block(ch[3] + ch[2], ch[2])
        self.dec1 = conv_block(ch[2] + ch[1], ch[1])
        self.dec0 = conv_block(ch[1] + ch[0], ch[0])
        self.flow = nn.Conv3d(ch[0], 3, 3, padding=1)
        nn.init.normal_(self.flow.weight, std=1e-5)
        nn.init.zeros_(self.flow.bias)

    def forward(self, moving, fixed):
        x0 = self.enc0(torch.cat([moving, fixed], dim=1))
        x1 = self.down1(x0)
        x2 = self.down2(x1)
        x3 = self.down3(x2)
        y = self.dec2(torch.cat([self.up(x3), x2], dim=1))
        y = self.dec1(torch.cat([self.up(y), x1], dim=1))
        y = self.dec0(torch.cat([self.up(y), x0], dim=1))
        return self.flow(y)


def warp(vol, flow):
    size = vol.shape[2:]
    theta = torch.eye(3, 4).unsqueeze(0).repeat(vol.size(0), 1, 1)
    grid = F.affine_grid(theta, vol.shape, align_corners=False)
    scale = torch.tensor([2.0 / s for s in reversed(size)])
    disp = flow.permute(0, 2, 3, 4, 1).flip(-1) * scale
    return F.grid_sample(vol, grid + disp, align_corners=False)


def smoothness(flow):
    dz = (flow[:, :, 1:] - flow[:, :, :-1]).pow(2).mean()
    dy = (flow[:, :, :, 1:] - flow[:, :, :, :-1]).pow(2).mean()
    dx = (flow[..., 1:] - flow[..., :-1]).pow(2).mean()
    return dz + dy + dx


class ScanPairs(Dataset):
    """Atlas / subject pairs from the T1 scans of the study."""

    def __init__(self, n=4, shape=(32, 32, 22)):
        rng = np.random.RandomState(0)
        self.scans = [rng.rand(*shape).astype(np.float32) for _ in range(n)]
        self.atlas = rng.rand(*shape).astype(np.float32)

    def __len__(self):
        return len(self.scans)

    def prepare(self, vol):
        vol = (vol - vol.min()) / (vol.max() - vol.min())
        return torch.from_numpy(vol[:, :, 3:19])[None]

    def __getitem__(self, i):
        return self.prepare(self.scans[i]), self.prepare(self.atlas)


def main():
    torch.manual_seed(0)
    loader = DataLoader(ScanPairs(), batch_size=1, shuffle=True)
    net = RegNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(2):
        for moving, fixed in loader:
            flow = net(moving, fixed)
            moved = warp(moving, flow)
            loss = F.mse_loss(moved, fixed) + 0.1 * smoothness(flow)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", round(loss.item(), 5))


if __name__ == "__main__":
    main()
