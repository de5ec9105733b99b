import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ATan(torch.autograd.Function):
    """spike in the forward pass, smooth slope in the backward pass"""

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return (x >= 0).to(x)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        a = ctx.alpha
        return grad * a / 2 / (1 + (math.pi / 2 * a * x) ** 2), None


class IFNode(nn.Module):
    def __init__(self, v_threshold=1.0, tau=2.0):
        super().__init__()
        self.v_threshold = v_threshold
        self.tau = tau
        self.v = 0.0

    def reset(self):
        self.v = 0.0

    def forward(self, x):
        self.v = self.v + (x - self.v) / self.tau
        spike = ATan.apply(self.v - self.v_threshold, 2.0)
        self.v = self.v * (1.0 - spike.detach())
        return spike


def reset_net(net):
    for m in net.modules():
        if isinstance(m, IFNode):
            m.reset()


class SEWBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), IFNode())
        self.conv2 = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), IFNode())

    def forward(self, x):
        return x + self.conv2(self.conv1(x))


class SpikingBackbone(nn.Module):
    def __init__(self, n_classes, channels=12, T=4):
        super().__init__()
        self.T = T
        self.stem = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(channels), IFNode())
        self.blocks = nn.Sequential(SEWBlock(channels), SEWBlock(channels))
        self.fc = nn.Linear(channels, n_classes)

    def forward(self, x):
        out = 0.0
        for _ in range(self.T):
            h = self.blocks(self.stem(x))
            out = out + self.fc(h.mean(dim=(2, 3)))
        return out / self.T


def moving_bars(n):
    gen = torch.Generator().manual_seed(11)
    x = 0.3 * torch.randn(n, 1, 16, 16, generator=gen)
    y = torch.randint(0, 3, (n,), generator=gen)
    for i, k in enumerate(y.tolist()):
        if k == 0:
            x[i, 0, 5:9] += 2.0
        elif k == 1:
            x[i, 0, :, 5:9] += 2.0
        else:
            x[i, 0] += 2.0 * torch.eye(16)
    return TensorDataset(x, y)


def fit_one_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for images, targets in loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = F.cross_entropy(outputs, targets)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    loader = DataLoader(moving_bars(192), batch_size=32, shuffle=True)
    model = SpikingBackbone(n_classes=3)
    reset_net(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        print("epoch %d  loss %.4f" % (epoch + 1, fit_one_epoch(model, loader, optimizer)))


if __name__ == "__main__":
    main()
