"""Weather photos: feature extractor + small head.  Moved from resnet18 to resnet50, see README."""
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models


@dataclass
class Config:
    backbone: str = "resnet50"
    num_classes: int = 4
    hidden: int = 128
    lr: float = 1e-3
    batch_size: int = 16
    epochs: int = 1


class Encoder(nn.Module):
    def __init__(self, name: str):
        super().__init__()
        self.net = getattr(models, name)(weights=None)
        self.net.fc = nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


class Head(nn.Module):
    def __init__(self, hidden: int, num_classes: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2048, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(0.2),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, feats: torch.Tensor) -> torch.Tensor:
        return self.layers(feats)


class WeatherModel(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.encoder = Encoder(cfg.backbone)
        self.head = Head(cfg.hidden, cfg.num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(x))


def make_data(n: int, seed: int) -> TensorDataset:
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 3, 64, 64, generator=g) * 0.5
    x[torch.arange(n), y % 3] += 1.0
    x[y == 3] -= 1.0
    return TensorDataset(x, y)


def train(cfg: Config) -> WeatherModel:
    torch.manual_seed(0)
    model = WeatherModel(cfg)
    loader = DataLoader(make_data(64, 0), batch_size=cfg.batch_size, shuffle=True)
    val_loader = DataLoader(make_data(32, 1), batch_size=cfg.batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(cfg.epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()

        model.eval()
        correct = 0
        with torch.inference_mode():
            for x, y in val_loader:
                correct += (model(x).argmax(dim=1) == y).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f} val acc {correct / len(val_loader.dataset):.3f}")
    return model


if __name__ == "__main__":
    train(Config())
