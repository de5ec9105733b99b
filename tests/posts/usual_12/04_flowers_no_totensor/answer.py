import argparse
import os

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


def make_folder(root, n_per_class=24):
    rng = np.random.default_rng(0)
    colours = {"daisy": (230, 230, 210), "rose": (200, 40, 60), "tulip": (180, 60, 190)}
    for name, colour in colours.items():
        os.makedirs(os.path.join(root, name), exist_ok=True)
        for i in range(n_per_class):
            h, w = rng.integers(70, 110, 2)
            arr = rng.integers(0, 90, (h, w, 3)) + 30
            arr[h // 4:3 * h // 4, w // 4:3 * w // 4] = np.array(colour) - rng.integers(0, 25)
            Image.fromarray(arr.astype(np.uint8)).save(os.path.join(root, name, f"{i:03d}.jpg"))


class FlowerDataset(Dataset):
    def __init__(self, root, split, transform=None):
        self.classes = sorted(os.listdir(root))
        self.samples = []
        for label, name in enumerate(self.classes):
            files = sorted(os.listdir(os.path.join(root, name)))
            chosen = files[:-6] if split == "train" else files[-6:]
            self.samples += [(os.path.join(root, name, f), label) for f in chosen]
        self.transform = transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        path, label = self.samples[idx]
        image = Image.open(path).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return image, label


class SmallCNN(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, num_classes))

    def forward(self, x):
        return self.net(x)


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, correct = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for images, labels in loader:
            logits = model(images)
            loss = criterion(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(labels)
            correct += (logits.argmax(1) == labels).sum().item()
    return total / len(loader.dataset), correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="flowers")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()
    torch.manual_seed(0)
    make_folder(args.root)

    train_tf = transforms.Compose([
        transforms.RandomResizedCrop(64, scale=(0.7, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
    ])
    eval_tf = transforms.Compose([
        transforms.Resize((64, 64)),
        transforms.ToTensor(),
    ])
    train_set = FlowerDataset(args.root, "train", train_tf)
    val_set = FlowerDataset(args.root, "val", eval_tf)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = SmallCNN(len(train_set.classes))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        tr_loss, tr_acc = run_epoch(model, train_loader, criterion, optimizer)
        va_loss, va_acc = run_epoch(model, val_loader, criterion)
        print(f"[{epoch}] train {tr_loss:.3f}/{tr_acc:.2f}  val {va_loss:.3f}/{va_acc:.2f}")


if __name__ == "__main__":
    main()
