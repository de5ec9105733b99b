"""Small residual network for 5-band satellite tiles."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

LAND_COVER = ["water", "forest", "crop", "urban", "bare", "wetland"]


class TileDataset(Dataset):
    def __init__(self, n_tiles, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(LAND_COVER), (n_tiles,), generator=g)
        base = torch.linspace(-1, 1, len(LAND_COVER))[self.labels]
        noise = torch.randn(n_tiles, 5, 32, 32, generator=g)
        self.tiles = noise * 0.5 + base[:, None, None, None]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.tiles[i], self.labels[i]


class ResidualBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Identity()
        if stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out = out + self.shortcut(x)
        return F.relu(out)


class TileNet(nn.Module):
    def __init__(self, bands=5, widths=(32, 64, 96), blocks=(2, 2, 1), n_classes=6):
        super().__init__()
        self.planes = 16
        self.stem = nn.Sequential(
            nn.Conv2d(bands, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        )
        stages = []
        for i, (width, n) in enumerate(zip(widths, blocks)):
            stages.append(self._stage(width, n, stride=1 if i == 0 else 2))
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(widths[-1], n_classes)

    def _stage(self, width, n, stride):
        layers = []
        for s in [stride] + [1] * (n - 1):
            layers.append(ResidualBlock(self.planes, width, s))
            self.planes = width
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.stages(self.stem(x))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.head(x)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(t).argmax(1) == y).sum().item() for t, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(3)
    train = DataLoader(TileDataset(128, 1), batch_size=32, shuffle=True)
    valid = DataLoader(TileDataset(48, 2), batch_size=48)
    net = TileNet(n_classes=len(LAND_COVER))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-4)
    for epoch in range(2):
        net.train()
        total = 0.0
        for tiles, y in train:
            loss = F.cross_entropy(net(tiles), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        print(f"[{epoch}] loss={total / len(train.dataset):.3f} acc={accuracy(net, valid):.3f}")


if __name__ == "__main__":
    main()
