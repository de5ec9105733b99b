from __future__ import annotations

import logging
from typing import Callable

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("meter-reader")

CFG = {
    "backbone": "densenet121",
    "num_classes": 10,
    "image_size": 64,
    "batch_size": 16,
    "lr": 5e-4,
    "epochs": 2,
    "seed": 0,
}

BACKBONES: dict[str, Callable[..., nn.Module]] = {
    "vgg16": models.vgg16,
    "densenet121": models.densenet121,
}


def replace_head(net: nn.Module, num_classes: int) -> nn.Module:
    in_features = net.classifier[6].in_features
    net.classifier[6] = nn.Linear(in_features, num_classes)
    return net


def build(cfg: dict) -> nn.Module:
    net = BACKBONES[cfg["backbone"]](weights=None)
    return replace_head(net, cfg["num_classes"])


def digits(n: int, size: int, seed: int) -> TensorDataset:
    """Rendered dial crops: the pointer's angle stands for the digit."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=g)
    ang = (y + 0.2 * torch.randn(n, generator=g)) * 2 * torch.pi / 10
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    along = xx * ang.cos()[:, None, None] + yy * ang.sin()[:, None, None]
    across = (-xx * ang.sin()[:, None, None] + yy * ang.cos()[:, None, None]).abs()
    img = ((along > 0) & (across < 0.12)).float().unsqueeze(1).expand(-1, 3, -1, -1)
    return TensorDataset(img + 0.1 * torch.randn(n, 3, size, size, generator=g), y)


class Runner:
    def __init__(self, cfg: dict):
        torch.manual_seed(cfg["seed"])
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = build(cfg).to(self.device)
        self.opt = optim.AdamW(self.net.parameters(), lr=cfg["lr"])
        self.criterion = nn.CrossEntropyLoss()
        self.train_dl = DataLoader(digits(64, cfg["image_size"], 1), cfg["batch_size"], shuffle=True)
        self.val_dl = DataLoader(digits(32, cfg["image_size"], 2), cfg["batch_size"])

    def train_epoch(self) -> float:
        self.net.train()
        total = 0.0
        for x, y in self.train_dl:
            x, y = x.to(self.device), y.to(self.device)
            self.opt.zero_grad()
            loss = self.criterion(self.net(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(x)
        return total / len(self.train_dl.dataset)

    @torch.no_grad()
    def validate(self) -> float:
        self.net.eval()
        hits = sum((self.net(x.to(self.device)).argmax(1).cpu() == y).sum().item() for x, y in self.val_dl)
        return hits / len(self.val_dl.dataset)

    def run(self) -> None:
        for epoch in range(self.cfg["epochs"]):
            log.info("epoch %d  loss %.3f  val acc %.3f", epoch, self.train_epoch(), self.validate())


if __name__ == "__main__":
    Runner(CFG).run()
