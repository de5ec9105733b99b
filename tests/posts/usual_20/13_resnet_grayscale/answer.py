import argparse

import torch
import torch.nn as nn
import torchvision
from torchvision import transforms
from torchvision.datasets import FakeData
from torch.utils.data import DataLoader


def get_args():
    p = argparse.ArgumentParser(description="X-ray classifier")
    p.add_argument("--num-classes", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--img-size", type=int, default=64)
    return p.parse_args()


def get_loader(args, train=True):
    tfm = [transforms.Grayscale(), transforms.Resize((args.img_size, args.img_size))]
    if train:
        tfm.append(transforms.RandomRotation(5))
    tfm += [transforms.ToTensor(), transforms.Normalize([0.5], [0.25])]
    data = FakeData(
        size=40,
        image_size=(3, 80, 80),
        num_classes=args.num_classes,
        random_offset=0 if train else 1000,
        transform=transforms.Compose(tfm),
    )
    return DataLoader(data, batch_size=args.batch_size, shuffle=train)


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


def main():
    args = get_args()
    torch.manual_seed(0)
    train_loader = get_loader(args, train=True)
    val_loader = get_loader(args, train=False)

    model = torchvision.models.resnet18(weights=None)
    model.conv1 = nn.Conv2d(1, 64, kernel_size=7, stride=2, padding=3, bias=False)
    model.fc = nn.Linear(model.fc.in_features, args.num_classes)

    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f} val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
