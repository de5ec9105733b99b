from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class LesionConfig:
    image_size: int = 96
    in_channels: int = 3
    stem_stride: int = 2
    widths: tuple = (16, 32, 64)
    hidden: int = 64
    num_classes: int = 4
    batch_size: int = 8
    epochs: int = 2


class LesionImages(Dataset):
    def __init__(self, count, cfg, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.targets = torch.randint(0, cfg.num_classes, (count,), generator=g)
        self.images = torch.rand(count, cfg.in_channels, cfg.image_size, cfg.image_size, generator=g)
        self.images[:, 0] += self.targets.view(-1, 1, 1) * 0.2

    def __len__(self):
        return self.targets.numel()

    def __getitem__(self, index):
        return self.images[index], self.targets[index]


def feature_side(cfg):
    return cfg.image_size // 2 ** len(cfg.widths)


def flat_features(cfg):
    side = feature_side(cfg)
    return cfg.widths[-1] * side * side


class Backbone(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(cfg.in_channels, cfg.widths[0], 5, stride=cfg.stem_stride, padding=2),
            nn.BatchNorm2d(cfg.widths[0]),
            nn.ReLU(inplace=True),
        )
        stages = []
        previous = cfg.widths[0]
        for width in cfg.widths:
            stages += [
                nn.Conv2d(previous, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(2),
            ]
            previous = width
        self.stages = nn.Sequential(*stages)

    def forward(self, x):
        return self.stages(self.stem(x))


class Head(nn.Module):
    def __init__(self, in_features, hidden, num_classes):
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(),
            nn.Linear(in_features, hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, x):
        return self.net(x)


class LesionNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = Backbone(cfg)
        self.head = Head(flat_features(cfg), cfg.hidden, cfg.num_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def main():
    torch.manual_seed(3)
    cfg = LesionConfig()
    train = DataLoader(LesionImages(64, cfg), batch_size=cfg.batch_size, shuffle=True)
    valid = DataLoader(LesionImages(24, cfg, seed=1), batch_size=cfg.batch_size)
    model = LesionNet(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(cfg.epochs):
        model.train()
        for images, targets in train:
            optimizer.zero_grad()
            loss = criterion(model(images), targets)
            loss.backward()
            optimizer.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for images, targets in valid:
                hits += (model(images).argmax(1) == targets).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {hits / len(valid.dataset):.3f}")


if __name__ == "__main__":
    main()
