"""Land-use classification of small satellite tiles."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

TILE = 32
LAND_USE = {"water": (30, 60, 160), "forest": (40, 120, 40), "city": (130, 130, 130), "field": (180, 160, 60)}
NAMES = list(LAND_USE)


def load_tiles(n, seed):
    """Return uint8 tiles (n, H, W, 3) and their class numbers."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, len(NAMES), n)
    tiles = np.empty((n, TILE, TILE, 3), dtype=np.uint8)
    for i, c in enumerate(classes):
        base = np.array(LAND_USE[NAMES[c]])
        tiles[i] = np.clip(base + rng.normal(0, 40, (TILE, TILE, 3)), 0, 255)
    return tiles, classes


class TileDataset(Dataset):
    def __init__(self, tiles, classes, transform=None):
        self.tiles = tiles
        self.classes = torch.from_numpy(classes)
        self.transform = transform

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, index):
        tile = torch.from_numpy(self.tiles[index]).float() / 255
        tile = tile.permute(2, 0, 1)
        if self.transform is not None:
            tile = self.transform(tile)
        return tile, self.classes[index]


class TileNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.classifier = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, model, train_loader, test_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.test_loader = test_loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for tile, target in self.train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(tile), target)
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {self.test():.3f}")

    @torch.no_grad()
    def test(self):
        self.model.eval()
        hits = 0
        for tile, target in self.test_loader:
            hits += (self.model(tile).argmax(1) == target).sum().item()
        return hits / len(self.test_loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    normalize = transforms.Normalize(mean=[0.37, 0.46, 0.38], std=[0.28, 0.22, 0.24])
    train_set = TileDataset(*load_tiles(320, seed=0), transform=normalize)
    test_set = TileDataset(*load_tiles(80, seed=1), transform=normalize)
    trainer = Trainer(
        TileNet(len(NAMES)),
        DataLoader(train_set, batch_size=32, shuffle=True),
        DataLoader(test_set, batch_size=32),
    )
    trainer.fit(epochs=4)
