import numpy as np
import torch
from torch import nn, optim
import torch.nn.functional as F

THRESH = 0.1

class HeatNet(nn.Module):
    def __init__(self, ch=12):
        super(HeatNet, self).__init__()
        self.down1 = nn.Conv2d(1, ch, 3, padding=1)
        self.down2 = nn.Conv2d(ch, 2 * ch, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * ch, ch, 2, stride=2)
        self.out = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        u = F.relu(self.up(b) + a)
        return torch.sigmoid(self.out(u))


def draw_cells(n, size=32, seed=0):
    rng = np.random.RandomState(seed)
    yy, xx = np.mgrid[0:size, 0:size]
    imgs = np.zeros((n, 1, size, size), dtype=np.float32)
    areas = np.zeros((n, 1, size, size), dtype=np.float32)
    for i in range(n):
        for _ in range(rng.randint(1, 4)):
            cy, cx, r = rng.randint(5, size - 5), rng.randint(5, size - 5), rng.randint(2, 5)
            d = np.sqrt((yy - cy) ** 2 + (xx - cx) ** 2)
            areas[i, 0][d <= r] = 1.0
        imgs[i, 0] = areas[i, 0] * 0.8 + 0.2 * rng.rand(size, size)
    return torch.from_numpy(imgs), torch.from_numpy(areas)


def area_loss(heat, area):
    active = heat * (heat > THRESH).float()
    inter = (active * area).sum(dim=(1, 2, 3))
    total = active.sum(dim=(1, 2, 3)) + area.sum(dim=(1, 2, 3))
    return (1 - (2 * inter + 1) / (total + 1)).mean()


torch.manual_seed(0)
images, areas = draw_cells(64)
val_images, val_areas = draw_cells(16, seed=1)
net = HeatNet()
opt = optim.Adam(net.parameters(), lr=1e-2)

for epoch in range(4):
    net.train()
    perm = torch.randperm(len(images))
    total = 0.0
    for k in range(0, len(images), 16):
        idx = perm[k:k + 16]
        opt.zero_grad()
        heat = net(images[idx])
        loss = area_loss(heat, areas[idx])
        loss.backward()
        opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        val = area_loss(net(val_images), val_areas).item()
    print("epoch %d  train %.4f  val %.4f" % (epoch, total / 4, val))
