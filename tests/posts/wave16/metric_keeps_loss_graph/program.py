import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=3)
parser.add_argument('--batch-size', type=int, default=32)
parser.add_argument('--base-lr', type=float, default=0.02)
parser.add_argument('--warmup-epochs', type=float, default=1)
parser.add_argument('--wd', type=float, default=5e-5)
args = parser.parse_args()


class Metric:
    """mean of a value over the batches of an epoch"""

    def __init__(self, name):
        self.name = name
        self.sum = torch.tensor(0.)
        self.n = torch.tensor(0.)

    def update(self, val):
        self.sum = self.sum + val
        self.n += 1

    @property
    def avg(self):
        return self.sum / self.n


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.short = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.short(x))


def resnet(num_classes):
    return nn.Sequential(
        BasicBlock(3, 12, 2), BasicBlock(12, 24, 2), BasicBlock(24, 24, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, num_classes))


def fake_imagenet(n, num_classes=6, size=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    base = torch.rand(num_classes, 3, 4, 4, generator=torch.Generator().manual_seed(77))
    y = torch.randint(0, num_classes, (n,), generator=g)
    x = F.interpolate(base[y], size=(size, size), mode='nearest')
    return TensorDataset(x + 0.4 * torch.randn(x.shape, generator=g), y)


def adjust_learning_rate(epoch, batch_idx):
    step = epoch + (batch_idx + 1) / len(train_loader)
    if step < args.warmup_epochs:
        factor = step / args.warmup_epochs
    else:
        factor = 0.5 * (1 + math.cos(math.pi * (step - args.warmup_epochs) / args.epochs))
    for group in optimizer.param_groups:
        group['lr'] = args.base_lr * factor


def accuracy(output, target):
    return output.argmax(1).eq(target).float().mean()


def train(epoch):
    model.train()
    train_loss, train_accuracy = Metric('train_loss'), Metric('train_accuracy')
    for batch_idx, (data, target) in enumerate(train_loader):
        adjust_learning_rate(epoch, batch_idx)
        optimizer.zero_grad()
        output = model(data)
        loss = F.cross_entropy(output, target)
        loss.backward()
        optimizer.step()
        train_loss.update(loss)
        train_accuracy.update(accuracy(output, target))
    print('Train epoch #%d' % (epoch + 1), train_loss.name, train_loss.avg, train_accuracy.name, train_accuracy.avg)


def validate(epoch):
    model.eval()
    val_loss, val_accuracy = Metric('val_loss'), Metric('val_accuracy')
    with torch.no_grad():
        for data, target in val_loader:
            output = model(data)
            val_loss.update(F.cross_entropy(output, target))
            val_accuracy.update(accuracy(output, target))
    print('Validate epoch #%d' % (epoch + 1), val_loss.name, val_loss.avg, val_accuracy.name, val_accuracy.avg)


torch.manual_seed(42)
train_loader = DataLoader(fake_imagenet(512, seed=1), batch_size=args.batch_size, shuffle=True)
val_loader = DataLoader(fake_imagenet(128, seed=2), batch_size=args.batch_size)
model = resnet(6)
optimizer = torch.optim.SGD(model.parameters(), lr=args.base_lr, momentum=0.9, weight_decay=args.wd)
for epoch in range(args.epochs):
    train(epoch)
    validate(epoch)
