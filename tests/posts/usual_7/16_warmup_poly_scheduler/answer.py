import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LRScheduler


class WarmupPolyLR(LRScheduler):
    """Linear warm-up followed by polynomial decay, stepped once per iteration (as in the DeepLab papers)."""

    def __init__(self, optimizer, max_iters, warmup_iters=50, power=0.9, min_lr=1e-6, last_epoch=-1):
        self.max_iters = max_iters
        self.warmup_iters = warmup_iters
        self.power = power
        self.min_lr = min_lr
        super().__init__(optimizer, last_epoch)

    def factor(self, it):
        if it < self.warmup_iters:
            return (it + 1) / self.warmup_iters
        rest = (it - self.warmup_iters) / max(1, self.max_iters - self.warmup_iters)
        return max(0.0, 1.0 - rest) ** self.power

    def get_lr(self):
        f = self.factor(self.last_epoch)
        return [max(self.min_lr, base * f) for base in self.base_lrs]


class DepthwiseBlock(nn.Module):
    def __init__(self, c, expand=2):
        super().__init__()
        m = c * expand
        self.body = nn.Sequential(
            nn.Conv2d(c, m, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU6(),
            nn.Conv2d(m, m, 3, padding=1, groups=m, bias=False), nn.BatchNorm2d(m), nn.ReLU6(),
            nn.Conv2d(m, c, 1, bias=False), nn.BatchNorm2d(c),
        )

    def forward(self, x):
        return x + self.body(x)


class LaneNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(DepthwiseBlock(width), DepthwiseBlock(width))
        self.decoder = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        y = self.decoder(self.blocks(F.relu(self.stem(x))))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


def lane_batch(n, size=40):
    rows = torch.arange(size).view(1, size, 1)
    cols = torch.arange(size).view(1, 1, size)
    offset = torch.randint(5, size - 5, (n, 1, 1))
    slope = torch.empty(n, 1, 1).uniform_(-0.5, 0.5)
    mask = ((cols - offset - slope * (rows - size / 2)).abs() < 2).float().unsqueeze(1)
    return mask * 0.7 + 0.2 * torch.randn_like(mask), mask


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid().flatten(1)
    t = target.flatten(1)
    return (1 - (2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


def get_param_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim > 1]
    no_decay = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


def main(max_iters=120, batch=12, lr=0.1):
    torch.manual_seed(31)
    model = LaneNet()
    optimizer = torch.optim.SGD(get_param_groups(model, 1e-4), lr=lr, momentum=0.9)
    scheduler = WarmupPolyLR(optimizer, max_iters=max_iters, warmup_iters=20)
    model.train()
    for it in range(max_iters):
        images, masks = lane_batch(batch)
        logits = model(images)
        loss = F.binary_cross_entropy_with_logits(logits, masks) + dice_loss(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if (it + 1) % 30 == 0:
            print("iter %4d  lr %.4f  loss %.4f" % (it + 1, scheduler.get_last_lr()[0], loss.item()))

    model.eval()
    with torch.no_grad():
        images, masks = lane_batch(64)
        pred = model(images) > 0
        inter = (pred & masks.bool()).sum().item()
        print("val IoU %.3f" % (inter / (pred | masks.bool()).sum().item()))


if __name__ == "__main__":
    main()
