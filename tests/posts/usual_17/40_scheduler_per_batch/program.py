import argparse
import random
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument('--epochs', type=int, default=8)
    p.add_argument('--batch-size', type=int, default=32)
    p.add_argument('--lr', type=float, default=0.05)
    p.add_argument('--lr-step', type=int, default=3, help='decrease the lr every N epochs')
    p.add_argument('--lr-gamma', type=float, default=0.1)
    p.add_argument('--seed', type=int, default=0)
    return p.parse_args()


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def synthetic_images(n, n_classes=8):
    y = torch.randint(0, n_classes, (n,))
    x = torch.randn(n, 3, 20, 20) * 0.7
    for i in range(n):
        r, c = divmod(y[i].item(), 4)
        x[i, :, r * 10:r * 10 + 8, c * 5:c * 5 + 5] += 0.8
    return TensorDataset(x, y)


class SmallNet(nn.Module):
    def __init__(self, n_classes=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.fc = nn.Linear(32 * 16, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


def train(loader, model, criterion, optimizer, scheduler):
    model.train()
    losses, top1 = AverageMeter(), AverageMeter()
    for images, target in loader:
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update((output.argmax(1) == target).float().mean().item(), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return losses.avg, top1.avg


def validate(loader, model):
    model.eval()
    top1 = AverageMeter()
    with torch.no_grad():
        for images, target in loader:
            top1.update((model(images).argmax(1) == target).float().mean().item(), images.size(0))
    return top1.avg


def main():
    args = parse_args()
    set_seed(args.seed)
    train_loader = DataLoader(synthetic_images(480), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(synthetic_images(160), batch_size=args.batch_size)
    model = SmallNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=args.lr_step, gamma=args.lr_gamma)
    for epoch in range(args.epochs):
        loss, acc = train(train_loader, model, criterion, optimizer, scheduler)
        val_acc = validate(val_loader, model)
        print(f'epoch {epoch}: loss {loss:.4f} acc {acc:.3f} val {val_acc:.3f}')


if __name__ == '__main__':
    main()
