import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

COOR_BIN = 64


class Crops(Dataset):
    """Crops of one object with the coordinates of every pixel in the frame of the object."""

    def __init__(self, n=20):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        img = torch.rand(3, 64, 64, generator=g)
        coor = torch.rand(32, 32, 3, generator=g) * 2 - 1
        return img, coor


class CoordinateHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU())
        self.out = nn.Conv2d(64, 3 * (COOR_BIN + 1), 1)

    def forward(self, x):
        maps = self.out(self.backbone(x))
        return maps.split(COOR_BIN + 1, dim=1)


def train():
    net = CoordinateHead()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4)
    loader = DataLoader(Crops(), batch_size=8, shuffle=True)
    for i, (img, coor) in enumerate(loader):
        bins = net(img)
        truth = ((coor + 1) / 2 * COOR_BIN).long().clamp(0, COOR_BIN - 1)
        loss = sum(F.cross_entropy(b, truth[..., i]) for i, b in enumerate(bins))



        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f'[{i}/{len(loader)}] loss {loss.item():.4f}')


if __name__ == '__main__':
    train()
