import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CLASSES = 12


class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0.0
        self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class ClipDataset(Dataset):
    """Clips decoded as (T, H, W, C)."""

    def __init__(self, n, frames=8, size=24):
        self.labels = torch.randint(0, CLASSES, (n,))
        self.clips = torch.rand(n, frames, size, size, 3)
        self.clips += self.labels.view(-1, 1, 1, 1, 1) * 0.05

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.clips[i], self.labels[i]


class TinyC3D(nn.Module):
    def __init__(self, num_classes):
        super(TinyC3D, self).__init__()
        self.conv1 = nn.Conv3d(3, 8, 3, stride=(1, 2, 2), padding=1)
        self.bn1 = nn.BatchNorm3d(8)
        self.conv2 = nn.Conv3d(8, 16, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm3d(16)
        self.pool = nn.AdaptiveAvgPool3d(1)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(self.pool(x).flatten(1))


def topk_accuracy(scores, target, topk=(1,)):
    with torch.no_grad():
        n = target.size(0)
        _, pred = scores.topk(max(topk), dim=1, largest=True, sorted=True)
        pred = pred.t()
        hits = pred.eq(target.view(1, -1).expand_as(pred))
        out = []
        for k in topk:
            hits_k = hits[:k].reshape(-1).float().sum(0)
            out.append(hits_k.mul_(100.0 / n))
        return out


def train_one_epoch(epoch, model, loader, criterion, optimizer):
    losses, top1, top5 = AverageMeter(), AverageMeter(), AverageMeter()
    model.train()
    start = time.time()
    for clip, label in loader:
        clip = clip.permute(0, 4, 1, 2, 3)
        scores = model(clip)
        loss = criterion(scores, label)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        prec1, prec5 = topk_accuracy(scores.detach(), label, topk=(1, 5))
        losses.update(loss.item(), label.size(0))
        top1.update(prec1.item(), label.size(0))
        top5.update(prec5.item(), label.size(0))
    print("epoch {} loss {:.3f} top1 {:.2f} top5 {:.2f} ({:.1f}s)".format(
        epoch, losses.avg, top1.avg, top5.avg, time.time() - start))


def main():
    torch.manual_seed(11)
    loader = DataLoader(ClipDataset(48), batch_size=8, shuffle=True)
    model = TinyC3D(CLASSES)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for epoch in range(2):
        train_one_epoch(epoch, model, loader, criterion, optimizer)
        scheduler.step()


if __name__ == "__main__":
    main()
