# line 30: the corner of the crop is drawn once for the hazy picture and once more for the clean one
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

random.seed(79)
torch.manual_seed(79)


def random_crop(picture, size):
    top = random.randint(0, picture.size(-2) - size)
    left = random.randint(0, picture.size(-1) - size)
    return picture[..., top : top + size, left : left + size]


class HazePairs(Dataset):
    def __init__(self, n, patch):
        low = torch.rand(n, 3, 6, 6)
        self.clean = nn.functional.interpolate(low, size=(30, 30), mode="bilinear", align_corners=False)
        self.hazy = 0.6 * self.clean + 0.4 + 0.02 * torch.randn_like(self.clean)
        self.patch = patch

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, k):
        hazy = random_crop(self.hazy[k], self.patch)
        clean = random_crop(self.clean[k], self.patch)
        return hazy, clean


class Dehaze(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1)
        )

    def forward(self, x):
        return x + self.layers(x)


net = Dehaze()
loader = DataLoader(HazePairs(96, 20), batch_size=12, shuffle=True)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    total = 0.0
    for hazy, clean in loader:
        loss = (net(hazy) - clean).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(hazy)
    print(epoch, total / len(loader.dataset))
