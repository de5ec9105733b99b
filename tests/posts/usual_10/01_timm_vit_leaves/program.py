import argparse

import numpy as np
import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class LeafDataset(Dataset):
    def __init__(self, images, labels, tfm):
        self.images, self.labels, self.tfm = images, labels, tfm

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.tfm(self.images[i]), int(self.labels[i])


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="vit_tiny_patch16_224")
    p.add_argument("--img-size", type=int, default=96)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--num-classes", type=int, default=4)
    return p.parse_args()


def build_loaders(args):
    rng = np.random.default_rng(7)
    imgs = rng.integers(0, 256, (48, 110, 110, 3), dtype=np.uint8)
    labels = rng.integers(0, args.num_classes, 48)
    train_t = transforms.Compose([
        transforms.ToPILImage(),
        transforms.RandomResizedCrop(args.img_size, scale=(0.6, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    val_t = transforms.Compose([
        transforms.ToPILImage(),
        transforms.Resize(args.img_size),
        transforms.CenterCrop(args.img_size),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    train = DataLoader(LeafDataset(imgs[:32], labels[:32], train_t), args.batch_size, shuffle=True)
    val = DataLoader(LeafDataset(imgs[32:], labels[32:], val_t), args.batch_size)
    return train, val


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total, n = 0.0, 0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
        n += x.size(0)
    return total / n


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    args = get_args()
    torch.manual_seed(0)
    train_loader, val_loader = build_loaders(args)
    model = timm.create_model(args.model, pretrained=False, num_classes=args.num_classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, criterion, optimizer)
        print(f"[{epoch}] loss {loss:.4f} acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
