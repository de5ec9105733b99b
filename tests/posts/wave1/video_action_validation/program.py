import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description='temporal shift network on clips')
parser.add_argument('--num_segments', type=int, default=8)
parser.add_argument('--batch-size', type=int, default=16)
parser.add_argument('--classes', type=int, default=20)


class AverageMeter(object):
    def __init__(self):
        self.sum = self.count = self.avg = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def accuracy(output, target, topk=(1,)):
    """Computes the precision@k for the specified values of k"""
    maxk = max(topk)
    batch_size = target.size(0)

    _, pred = output.topk(maxk, 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))

    res = []
    for k in topk:
        correct_k = correct[:k].view(-1).float().sum(0)
        res.append(correct_k.mul_(100.0 / batch_size))
    return res


class TemporalShift(nn.Module):
    def __init__(self, net, n_segment=8, n_div=8):
        super(TemporalShift, self).__init__()
        self.net, self.n_segment, self.fold_div = net, n_segment, n_div

    def forward(self, x):
        nt, c, h, w = x.size()
        x = x.view(nt // self.n_segment, self.n_segment, c, h, w)
        fold = c // self.fold_div
        out = torch.zeros_like(x)
        out[:, :-1, :fold] = x[:, 1:, :fold]
        out[:, 1:, fold: 2 * fold] = x[:, :-1, fold: 2 * fold]
        out[:, :, 2 * fold:] = x[:, :, 2 * fold:]
        return self.net(out.view(nt, c, h, w))


class TSN(nn.Module):
    def __init__(self, num_class, num_segments):
        super(TSN, self).__init__()
        self.n = num_segments
        self.conv1 = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.conv2 = TemporalShift(nn.Conv2d(16, 32, 3, stride=2, padding=1), num_segments)
        self.fc = nn.Linear(32, num_class)

    def forward(self, clip):
        x = clip.view((-1, 3) + clip.size()[-2:])
        x = torch.relu(self.conv2(torch.relu(self.conv1(x)))).mean((2, 3))
        return self.fc(x).view(-1, self.n, self.fc.out_features).mean(1)


def validate(loader, model, criterion):
    losses, top1, top5 = AverageMeter(), AverageMeter(), AverageMeter()
    model.eval()
    with torch.no_grad():
        for i, (clip, target) in enumerate(loader):
            output = model(clip)
            prec1, prec5 = accuracy(output, target, topk=(1, 5))
            losses.update(criterion(output, target).item(), clip.size(0))
            top1.update(prec1.item(), clip.size(0))
            top5.update(prec5.item(), clip.size(0))
    print('Prec@1 {:.3f} Prec@5 {:.3f} Loss {:.5f}'.format(top1.avg, top5.avg, losses.avg))


if __name__ == '__main__':
    args = parser.parse_args()
    clips = torch.rand(40, args.num_segments * 3, 56, 56)
    data = TensorDataset(clips, torch.randint(0, args.classes, (40,)))
    net = TSN(args.classes, args.num_segments)
    validate(DataLoader(data, batch_size=args.batch_size), net, nn.CrossEntropyLoss())
