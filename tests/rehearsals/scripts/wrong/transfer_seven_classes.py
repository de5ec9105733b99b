import argparse
import pathlib
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SmallVGG(nn.Module):
    def __init__(self, classes):
        super().__init__()
        layers, channels = [], 3
        for width in (8, 16, 32):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
            channels = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(),
                                        nn.Linear(64, classes))

    def forward(self, x):
        return self.classifier(self.features(x))


class Textures(Dataset):
    def __init__(self, n, classes):
        rng = np.random.default_rng(n)
        self.y = rng.integers(0, classes, n)
        self.x = rng.normal(size=(n, 3, 32, 32)).astype(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.tensor(self.y[i])


def pretrain(path):
    """Stands for the run of last week that left us its checkpoint."""
    torch.save({"epoch": 90, "state_dict": SmallVGG(10).state_dict()}, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--classes", type=int, default=7)
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(0)
    path = pathlib.Path(tempfile.mkdtemp()) / "vgg.pth"
    pretrain(path)

    model = SmallVGG(args.classes)
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["state_dict"])
    for parameter in model.features.parameters():
        parameter.requires_grad = False

    loader = DataLoader(Textures(40, args.classes), batch_size=10, shuffle=True)
    optimizer = torch.optim.Adam(model.classifier.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", round(loss.item(), 4))


if __name__ == "__main__":
    main()
