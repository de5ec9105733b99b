import argparse

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import models, transforms


class XrayDataset(Dataset):
    """Hand radiographs, one uint8 plane per study, with a fracture flag."""

    def __init__(self, n, transform=None, seed=0):
        rng = np.random.default_rng(seed)
        self.flags = rng.integers(0, 2, n)
        self.scans = rng.integers(0, 160, (n, 72, 72)).astype(np.uint8)
        for k in np.flatnonzero(self.flags):
            row = rng.integers(10, 60)
            self.scans[k, row:row + 4, 8:64] = 250
        self.transform = transform

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, idx):
        scan = self.scans[idx]
        if self.transform is not None:
            scan = self.transform(scan)
        return scan, int(self.flags[idx])


def build_model(num_classes, dropout):
    net = models.resnet18(weights=None)
    net.conv1 = nn.Conv2d(1, 64, kernel_size=7, stride=2, padding=3, bias=False)
    net.fc = nn.Sequential(nn.Dropout(dropout), nn.Linear(net.fc.in_features, num_classes))
    return net


def run_epoch(net, loader, criterion, optimizer=None):
    training = optimizer is not None
    net.train(training)
    loss_sum, hits, seen = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for scans, flags in loader:
            out = net(scans)
            loss = criterion(out, flags)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * flags.size(0)
            hits += (out.argmax(1) == flags).sum().item()
            seen += flags.size(0)
    return loss_sum / seen, hits / seen


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--dropout", type=float, default=0.2)
    return p.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(11)
    tf = transforms.Compose([
        transforms.ToTensor(),
        transforms.CenterCrop(64),
        transforms.Normalize(mean=[0.35], std=[0.22]),
    ])
    data = XrayDataset(96, transform=tf)
    train_set, test_set = Subset(data, range(72)), Subset(data, range(72, 96))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=args.batch_size)

    net = build_model(num_classes=2, dropout=args.dropout)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(net.parameters(), lr=args.lr)

    for epoch in range(1, args.epochs + 1):
        tr_loss, tr_acc = run_epoch(net, train_loader, criterion, optimizer)
        te_loss, te_acc = run_epoch(net, test_loader, criterion)
        print(f"epoch {epoch}: train {tr_loss:.3f}/{tr_acc:.2f}  test {te_loss:.3f}/{te_acc:.2f}")


if __name__ == "__main__":
    main()
