import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

N_BITS = 8


class QuantConv(nn.Conv2d):
    """convolution whose weights are rounded to 8 bit in the forward pass"""

    def step(self):
        return self.weight.detach().abs().max() / (2 ** (N_BITS - 1) - 1)

    def forward(self, x):
        w = torch.round(self.weight / self.step()) * self.step()
        w = self.weight + (w - self.weight).detach()
        return F.conv2d(x, w, self.bias, self.stride, self.padding)


def build_net(num_classes):
    return nn.Sequential(
        QuantConv(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        QuantConv(12, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3),
        nn.Flatten(), nn.Linear(24 * 9, num_classes))


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target, topk=(1,)):
    """precision at k for each of the given k"""
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0)
            res.append(correct_k.mul(100.0 / target.size(0)).item())
        return res


def validate(loader, model, criterion):
    losses, top1, top5 = AverageMeter(), AverageMeter(), AverageMeter()
    model.eval()
    for x, y in loader:
        with torch.no_grad():
            output = model(x)
            loss = criterion(output, y)
        prec1, prec5 = accuracy(output, y, topk=(1, 5))
        losses.update(loss.item(), len(x))
        top1.update(prec1, len(x))
        top5.update(prec5, len(x))
    print('  **Test** Prec@1 %.2f Prec@5 %.2f loss %.3f' % (top1.avg, top5.avg, losses.avg))
    return top1.avg


def flip_worst_bit(model, criterion, x, y):
    """flips the sign of the weight with the largest gradient times value"""
    model.zero_grad()
    criterion(model(x), y).backward()
    convs = [m for m in model if isinstance(m, QuantConv)]
    scores = [(m.weight.grad * -m.weight).max().item() for m in convs]
    conv = convs[scores.index(max(scores))]
    worst = (conv.weight.grad * -conv.weight).argmax()
    with torch.no_grad():
        conv.weight.view(-1)[worst] *= -1


def shapes(n, classes=8, size=16):
    base = torch.rand(classes, 1, 4, 4, generator=torch.Generator().manual_seed(9))
    y = torch.randint(0, classes, (n,))
    x = F.interpolate(base[y], size=size, mode='bilinear', align_corners=False)
    return TensorDataset(x + 0.1 * torch.randn(x.shape), y)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(shapes(768), batch_size=64, shuffle=True)
    test_loader = DataLoader(shapes(256), batch_size=128)
    model, criterion = build_net(8), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
    print('clean model')
    validate(test_loader, model, criterion)

    attacked = copy.deepcopy(model)
    x, y = next(iter(test_loader))
    for i in range(3):
        flip_worst_bit(attacked, criterion, x, y)
        print('iteration', i + 1)
        validate(test_loader, attacked, criterion)


if __name__ == '__main__':
    main()
