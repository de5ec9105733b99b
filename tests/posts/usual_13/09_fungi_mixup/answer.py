import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser("fungi classification")
    p.add_argument("--epochs", default=3, type=int)
    p.add_argument("--batch-size", default=32, type=int)
    p.add_argument("--lr", default=0.05, type=float)
    p.add_argument("--mixup-alpha", default=0.4, type=float, help="0 switches mixup off")
    p.add_argument("--num-classes", default=7, type=int)
    return p.parse_args()


class BasicBlock(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.down = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))
        self.act = nn.ReLU()

    def forward(self, x):
        y = self.act(self.bn1(self.conv1(x)))
        return self.act(self.bn2(self.conv2(y)) + self.down(x))


def build_model(num_classes):
    return nn.Sequential(
        BasicBlock(3, 16, 2), BasicBlock(16, 32, 2), BasicBlock(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, num_classes),
    )


def make_data(n, num_classes, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, num_classes, (n,), generator=g)
    x = torch.randn(n, 3, 32, 32, generator=g)
    for i, c in enumerate(y.tolist()):
        x[i, c % 3, :, 4 * c:4 * c + 4] += 2.0
    return TensorDataset(x, y)


def mixup(images, target, alpha, num_classes):
    lam = float(np.random.beta(alpha, alpha))
    perm = torch.randperm(images.size(0))
    images = lam * images + (1 - lam) * images[perm]
    target = nn.functional.one_hot(target, num_classes).float()
    target = lam * target + (1 - lam) * target[perm]
    return images, target


def train_one_epoch(model, loader, criterion, optimizer, args):
    model.train()
    total = 0.0
    for images, target in loader:
        if args.mixup_alpha > 0:
            images, target = mixup(images, target, args.mixup_alpha, args.num_classes)
        output = model(images)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * images.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    correct = 0
    for images, target in loader:
        correct += (model(images).argmax(1) == target).sum().item()
    return 100.0 * correct / len(loader.dataset)


def main():
    args = parse_args()
    torch.manual_seed(0)
    np.random.seed(0)
    train_loader = DataLoader(make_data(320, args.num_classes, 0), args.batch_size, shuffle=True)
    val_loader = DataLoader(make_data(140, args.num_classes, 1), args.batch_size)
    model = build_model(args.num_classes)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, criterion, optimizer, args)
        scheduler.step()
        print(f"epoch {epoch}: loss {loss:.3f}  val acc {validate(model, val_loader):.1f} %")


if __name__ == "__main__":
    main()
