import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class CrowdPatches(Dataset):
    """RGB patches with density maps at 1/4 of the resolution, 6 categories of objects."""

    def __init__(self, n=6, size=128):
        rng = np.random.RandomState(3)
        self.imgs = rng.rand(n, 3, size, size).astype(np.float32)
        self.dens = rng.rand(n, 6, size // 4, size // 4).astype(np.float32) * 0.01

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, i):
        return torch.from_numpy(self.imgs[i]), torch.from_numpy(self.dens[i])


def conv_relu(cin, cout, stride=1, k=3):
    return nn.Sequential(nn.Conv2d(cin, cout, k, stride, k // 2), nn.ReLU())


class FPNHead(nn.Module):
    def __init__(self, in_channels=(32, 64, 128), out_channels=64):
        super().__init__()
        self.lateral_convs = nn.ModuleList([conv_relu(c, out_channels, k=1) for c in in_channels])
        self.fpn_convs = nn.ModuleList([conv_relu(out_channels, out_channels) for _ in in_channels])

    def forward(self, inputs):
        laterals = [conv(x) for conv, x in zip(self.lateral_convs, inputs)]
        # top-down path
        for i in range(len(laterals) - 1, 0, -1):
            size = laterals[i - 1].shape[2:]
            laterals[i - 1] = laterals[i - 1] + F.interpolate(laterals[i], size=size, mode='nearest')
        return [conv(x) for conv, x in zip(self.fpn_convs, laterals)]


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Sequential(conv_relu(3, 16, 2), conv_relu(16, 32, 2))
        self.c2 = conv_relu(32, 64, 2)
        self.c3 = conv_relu(64, 128, 2)
        self.neck = FPNHead()
        self.head = nn.Conv2d(64, 6, 1)

    def forward(self, img):
        f1 = self.c1(img)
        f2 = self.c2(f1)
        f3 = self.c3(f2)
        p = self.neck([f1, f2, f3])
        return self.head(p[0])


net = Counter()
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
mse = nn.MSELoss(reduction='sum')
for epoch in range(2):
    for img, gt in DataLoader(CrowdPatches(), batch_size=4, shuffle=True):
        pred = net(img)
        loss = mse(pred, gt)
        opt.zero_grad()
        loss.backward()
        opt.step()
    mae = (pred.sum((1, 2, 3)) - gt.sum((1, 2, 3))).abs().mean()
    print(f'epoch {epoch}: loss {loss.item():.3f} mae {mae.item():.3f}')
