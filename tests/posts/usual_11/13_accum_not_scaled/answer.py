import math
import random

import numpy as np
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "seed": 2021,
    "img_size": 48,
    "n_classes": 6,
    "epochs": 4,
    "train_batch_size": 8,
    "accumulate": 8,      # effective batch 64
    "lr": 0.2,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "warmup": 0.1,
}


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class CassavaLike(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.target = torch.randint(0, CONFIG["n_classes"], (n,), generator=g)
        base = torch.linspace(-1, 1, CONFIG["img_size"])
        phase = self.target.view(-1, 1, 1, 1).float()
        wave = torch.sin(4 * base.view(1, 1, 1, -1) * (phase + 1))
        self.image = wave.expand(n, 3, CONFIG["img_size"], CONFIG["img_size"])
        self.image = self.image + torch.randn(self.image.shape, generator=g)

    def __len__(self):
        return len(self.target)

    def __getitem__(self, idx):
        return {"image": self.image[idx], "target": self.target[idx]}


class SmallResNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.ReLU())
        self.body = nn.ModuleList([
            nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(),
                          nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16))
            for _ in range(3)
        ])
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, n_classes))

    def forward(self, x):
        x = self.stem(x)
        for layer in self.body:
            x = torch.relu(x + layer(x))
        return self.head(x)


def train_one_epoch(model, optimizer, scheduler, loader, criterion):
    model.train()
    running_loss, seen = 0.0, 0
    optimizer.zero_grad()
    for step, data in enumerate(loader):
        outputs = model(data["image"])
        loss = criterion(outputs, data["target"])
        (loss / CONFIG["accumulate"]).backward()

        if (step + 1) % CONFIG["accumulate"] == 0:
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()

        running_loss += loss.item() * data["target"].size(0)
        seen += data["target"].size(0)
    return running_loss / seen


@torch.no_grad()
def valid_one_epoch(model, loader):
    model.eval()
    correct = sum((model(d["image"]).argmax(1) == d["target"]).sum().item() for d in loader)
    return correct / len(loader.dataset)


set_seed(CONFIG["seed"])
train_loader = DataLoader(CassavaLike(512, 1), batch_size=CONFIG["train_batch_size"], shuffle=True, drop_last=True)
valid_loader = DataLoader(CassavaLike(128, 2), batch_size=64)
model = SmallResNet(CONFIG["n_classes"])
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=CONFIG["lr"], momentum=CONFIG["momentum"],
                            weight_decay=CONFIG["weight_decay"])
n_updates = CONFIG["epochs"] * len(train_loader) // CONFIG["accumulate"]
n_warmup = int(CONFIG["warmup"] * n_updates)
scheduler = LambdaLR(optimizer, lambda s: (s + 1) / n_warmup if s < n_warmup
                     else 0.5 * (1 + math.cos(math.pi * (s - n_warmup) / (n_updates - n_warmup))))

for epoch in range(CONFIG["epochs"]):
    train_loss = train_one_epoch(model, optimizer, scheduler, train_loader, criterion)
    acc = valid_one_epoch(model, valid_loader)
    print(f"epoch {epoch} train loss {train_loss:.4f} valid acc {acc:.4f}")
