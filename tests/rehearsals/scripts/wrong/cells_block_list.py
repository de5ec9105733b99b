import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CellImages(Dataset):
    """Blobs on a dark ground; the label is how many there are, up to three."""

    def __init__(self, n, size=28, seed=0):
        self.n, self.size = n, size
        self.rng = np.random.RandomState(seed)
        self.items = [self.draw() for _ in range(n)]

    def draw(self):
        image = self.rng.rand(self.size, self.size) * 0.1
        count = self.rng.randint(0, 4)
        ys, xs = np.mgrid[: self.size, : self.size]
        for _ in range(count):
            y, x = self.rng.randint(4, self.size - 4, 2)
            image += np.exp(-((ys - y) ** 2 + (xs - x) ** 2) / 6)
        return image.astype("float32")[None], count

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        image, count = self.items[i]
        return torch.from_numpy(image), count


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.conv2(F.relu(self.conv1(x))))


class CellCounter(nn.Module):
    def __init__(self, channels=12, depth=3):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 5, stride=2, padding=2)
        self.blocks = [ResidualBlock(channels) for _ in range(depth)]
        self.head = nn.Linear(channels, 4)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=(2, 3)))


class Trainer:
    def __init__(self, model, loader, lr=2e-3):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def step(self, images, counts):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(images), counts)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            losses = [self.step(*batch) for batch in self.loader]
            print(f"[{epoch}] loss={sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(CellImages(48), batch_size=12, shuffle=True)
    Trainer(CellCounter(), loader).fit(epochs=2)
