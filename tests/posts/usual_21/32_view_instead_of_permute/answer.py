import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def draw(rng, label, size=24):
    img = rng.integers(0, 90, size=(size, size, 3)).astype(np.uint8)
    r, c = rng.integers(2, size - 10, size=2)
    color = np.array([200, 60, 60]) if label % 2 == 0 else np.array([60, 60, 200])
    if label < 2:
        img[r:r + 8, c:c + 2] = color
    else:
        img[r:r + 2, c:c + 8] = color
    return img


class BarsDataset(Dataset):
    """Red or blue bars, upright or flat."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 4, size=n)
        self.images = [draw(rng, k) for k in self.labels]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i].astype(np.float32) / 255.0
        img = torch.from_numpy(img).permute(2, 0, 1)
        return img, int(self.labels[i])


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(), nn.MaxPool2d(2)
    )


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(BarsDataset(600, 0), batch_size=32, shuffle=True)
    test_loader = DataLoader(BarsDataset(200, 1), batch_size=100)
    model = nn.Sequential(
        conv_block(3, 16),
        conv_block(16, 32),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 4),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(5):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for x, y in test_loader:
                hits += (model(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.4f} test acc {hits / 200:.3f}")


if __name__ == "__main__":
    main()
