"""Galaxy morphology: spiral / elliptical / lenticular / irregular.

usage: python program.py --epochs 2
"""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

CLASSES = ["spiral", "elliptical", "lenticular", "irregular"]


class GalaxyCutouts(Dataset):
    def __init__(self, n, seed, transform=None):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(CLASSES), (n,), generator=g)
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, 64), torch.linspace(-1, 1, 64), indexing="ij")
        self.images = []
        for label in self.labels:
            width = 0.15 + 0.12 * label
            core = torch.exp(-(xx**2 / width + yy**2 / 0.2) * 3)
            image = core.repeat(3, 1, 1) + 0.05 * torch.rand(3, 64, 64, generator=g)
            self.images.append(image.clamp(0, 1))
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[i]


def freeze(model):
    for param in model.parameters():
        param.requires_grad = False


def build_model(num_classes, checkpoint=None):
    model = models.resnet50(weights=None)
    if checkpoint is not None:
        model.load_state_dict(torch.load(checkpoint))
    model.fc = nn.Linear(512, num_classes)
    freeze(model)
    return model


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for images, labels in loader:
        outputs = model(images)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            preds = model(images).argmax(1)
            correct += (preds == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--checkpoint", default=None)
    args = parser.parse_args()

    torch.manual_seed(1)
    normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    augment = transforms.Compose([transforms.RandomVerticalFlip(), normalize])
    train_loader = DataLoader(GalaxyCutouts(96, 0, augment), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(GalaxyCutouts(32, 1, normalize), batch_size=args.batch_size)

    model = build_model(len(CLASSES), args.checkpoint)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, criterion, optimizer)
        acc = evaluate(model, val_loader)
        print(f"epoch {epoch} loss {loss:.3f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
