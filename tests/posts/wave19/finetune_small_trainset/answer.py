import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class PartImages(Dataset):
    """product photos of three kinds of part (rendered)"""

    def __init__(self, n=130, size=32):
        g = torch.Generator().manual_seed(11)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.images = torch.rand(n, 3, size, size, generator=g) * 0.4
        for i, label in enumerate(self.labels.tolist()):
            y, x = torch.randint(4, size - 14, (2,), generator=g).tolist()
            if label == 0:
                self.images[i, :, y:y + 10, x:x + 10] += 0.5
            elif label == 1:
                self.images[i, :, y:y + 3, 2:-2] += 0.5
            else:
                self.images[i, :, 2:-2, x:x + 3] += 0.5

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for out in (16, 32, 64):
            layers += [nn.Conv2d(c, out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
            c = out
        self.layers = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        return self.pool(self.layers(x)).flatten(1)


class Classifier(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Sequential(
            nn.Linear(64, 128),
            nn.BatchNorm1d(128),
            nn.ReLU(inplace=True),
            nn.Dropout(0.2),
            nn.Linear(128, num_classes),
        )

    def forward(self, x):
        return self.head(self.backbone(x))


def build_loaders(cfg):
    dataset = PartImages()
    n_train = int(0.75 * len(dataset))
    train_set, val_set = random_split(
        dataset, [n_train, len(dataset) - n_train], generator=torch.Generator().manual_seed(0)
    )
    drop_last = len(train_set) % cfg.batch_size == 1
    train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True, drop_last=drop_last)
    val_loader = DataLoader(val_set, batch_size=cfg.batch_size)
    return train_loader, val_loader


def evaluate(model, loader):
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    return correct / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=0.005)
    cfg = parser.parse_args()

    torch.manual_seed(1)
    train_loader, val_loader = build_loaders(cfg)
    model = Classifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg.epochs)
    for epoch in range(cfg.epochs):
        model.train()
        for images, labels in train_loader:
            logits = model(images)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"epoch {epoch}: loss {loss.item():.3f} val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
