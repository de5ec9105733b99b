import argparse
import os
import shutil
import sys
import tempfile

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


def parse(argv):
    p = argparse.ArgumentParser(description="image classifier compression")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--milestones", type=int, nargs="+", default=[2, 4])
    p.add_argument("--resume", default="")
    p.add_argument("--out", default="")
    return p.parse_args(argv)


class DepthwiseNet(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()

        def dw(i, o, s):
            return nn.Sequential(
                nn.Conv2d(i, i, 3, s, 1, groups=i, bias=False), nn.BatchNorm2d(i), nn.ReLU(inplace=True),
                nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            dw(8, 16, 1), dw(16, 32, 2), dw(32, 32, 1), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def save_checkpoint(epoch, model, optimizer, best_top1, out_dir, is_best):
    path = os.path.join(out_dir, "checkpoint.pth.tar")
    torch.save({
        "epoch": epoch,
        "arch": type(model).__name__,
        "state_dict": model.state_dict(),
        "best_top1": best_top1,
        "optimizer": optimizer.state_dict(),
    }, path)
    if is_best:
        shutil.copyfile(path, os.path.join(out_dir, "best.pth.tar"))
    return path


def load_checkpoint(model, path):
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["state_dict"])
    start_epoch = checkpoint["epoch"] + 1
    print("=> loaded %s (epoch %d, best top1 %.2f)" % (path, checkpoint["epoch"], checkpoint["best_top1"]))
    return model, checkpoint, start_epoch


def adjust_learning_rate(optimizer, epoch, milestones):
    if epoch in milestones:
        for group in optimizer.param_groups:
            group["lr"] *= 0.1


def datasets():
    g = torch.Generator().manual_seed(0)
    protos = torch.randn(5, 3, 16, 16, generator=g)
    y = torch.randint(0, 5, (400,), generator=g)
    x = protos[y] + 2.0 * torch.randn(400, 3, 16, 16, generator=g)
    return TensorDataset(x[:320], y[:320]), TensorDataset(x[320:], y[320:])


def run(loader, model, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, correct, n = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    return total / n, 100.0 * correct / n


def main(argv):
    args = parse(argv)
    torch.manual_seed(0)
    out_dir = args.out or tempfile.mkdtemp()
    train_set, val_set = datasets()
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, args.batch_size)
    model, criterion = DepthwiseNet(), nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.wd)
    start_epoch, best_top1, path = 0, 0.0, None
    if args.resume:
        model, checkpoint, start_epoch = load_checkpoint(model, args.resume)
        best_top1 = checkpoint["best_top1"]
        optimizer.load_state_dict(checkpoint["optimizer"])
    for epoch in range(start_epoch, args.epochs):
        adjust_learning_rate(optimizer, epoch, args.milestones)
        loss, _ = run(train_loader, model, criterion, optimizer)
        vloss, top1 = run(val_loader, model, criterion)
        print("epoch %d lr %.5f loss %.4f val %.4f top1 %.2f" % (epoch, optimizer.param_groups[0]["lr"], loss, vloss, top1))
        best_top1, is_best = max(best_top1, top1), top1 > best_top1
        path = save_checkpoint(epoch, model, optimizer, best_top1, out_dir, is_best)
    return path


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1:])
    else:
        stopped = main(["--epochs", "4"])
        main(["--epochs", "6", "--resume", stopped])
