import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class TilesDataset(Dataset):
    """Satellite tiles with four bands and a land cover class."""

    def __init__(self, tiles, labels):
        self.tiles = tiles
        self.labels = labels

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, idx):
        tile = torch.from_numpy(self.tiles[idx]).float() / 255.0
        h, w, c = tile.shape
        tile = tile.view(c, h, w)
        return tile, int(self.labels[idx])


def make_tiles(n, size=32, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    base = np.array([[60, 140, 60, 200], [60, 60, 140, 40], [140, 120, 60, 120], [110, 110, 110, 80]])
    tiles = base[labels][:, None, None, :] + rng.normal(0, 30, (n, size, size, 4))
    return tiles.clip(0, 255).astype(np.uint8), labels


class LandCoverNet(nn.Module):
    def __init__(self, in_channels=4, num_classes=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(in_channels, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.fc(self.body(x).flatten(1))


def accuracy(net, loader):
    net.eval()
    good = 0
    with torch.no_grad():
        for x, y in loader:
            good += (net(x).argmax(dim=1) == y).sum().item()
    return good / len(loader.dataset)


torch.manual_seed(0)
train_loader = DataLoader(TilesDataset(*make_tiles(320, seed=0)), batch_size=32, shuffle=True)
test_loader = DataLoader(TilesDataset(*make_tiles(80, seed=1)), batch_size=32)
net = LandCoverNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(6):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} test acc {accuracy(net, test_loader):.3f}")
