import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(2)
np.random.seed(2)


class CellDataset(Dataset):
    """Microscopy crops with blobs as foreground."""

    def __init__(self, n, size=(100, 100)):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        h, w = self.size
        yy, xx = np.mgrid[:h, :w]
        mask = np.zeros((h, w), dtype=np.float32)
        for _ in range(4):
            cy, cx, r = np.random.randint(10, h - 10), np.random.randint(10, w - 10), np.random.randint(5, 12)
            mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 1
        img = mask * 0.6 + np.random.randn(h, w).astype(np.float32) * 0.2
        return torch.from_numpy(img)[None].float(), torch.from_numpy(mask)[None]


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, base=8, depth=4):
        super().__init__()
        chs = [base * 2 ** i for i in range(depth)]
        self.downs = nn.ModuleList()
        cin = 1
        for c in chs:
            self.downs.append(double_conv(cin, c))
            cin = c
        self.pool = nn.MaxPool2d(2)
        self.bottom = double_conv(chs[-1], chs[-1] * 2)
        self.ups = nn.ModuleList()
        self.decs = nn.ModuleList()
        for c in reversed(chs):
            self.ups.append(nn.ConvTranspose2d(c * 2, c, 2, stride=2))
            self.decs.append(double_conv(c * 2, c))
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottom(x)
        for up, dec, skip in zip(self.ups, self.decs, reversed(skips)):
            x = up(x)
            x = torch.cat([skip, x], dim=1)
            x = dec(x)
        return self.out(x)


def dice(logits, target, eps=1e-6):
    p = (torch.sigmoid(logits) > 0.5).float()
    return ((2 * (p * target).sum() + eps) / (p.sum() + target.sum() + eps)).item()


train_dl = DataLoader(CellDataset(24), batch_size=4)
val_dl = DataLoader(CellDataset(8), batch_size=4)
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
crit = nn.BCEWithLogitsLoss()

for epoch in range(2):
    net.train()
    for img, mask in train_dl:
        opt.zero_grad()
        loss = crit(net(img), mask)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        d = np.mean([dice(net(img), mask) for img, mask in val_dl])
    print('epoch %d loss %.4f dice %.3f' % (epoch, loss.item(), d))
