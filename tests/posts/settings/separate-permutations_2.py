# line 15: a hand-written loader draws one randperm for the images and one for the targets (helper called twice)
import torch
from torch import nn


class MiniBatches:
    def __init__(self, images, targets, size):
        self.images, self.targets, self.size = images, targets, size

    def _shuffled(self, t):
        return t.index_select(0, torch.randperm(t.shape[0]))

    def __iter__(self):
        xs = self._shuffled(self.images).split(self.size)
        ys = self._shuffled(self.targets).split(self.size)
        yield from zip(xs, ys)


def digits_like(n):
    y = torch.randint(6, (n,))
    proto = torch.randn(6, 1, 10, 10, generator=torch.Generator().manual_seed(5))
    return proto[y] + 0.5 * torch.randn(n, 1, 10, 10), y


class ConvNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 6)
        )


def evaluate(net, x, y):
    net.eval()
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


torch.manual_seed(0)
x, y = digits_like(400)
vx, vy = digits_like(100)
net = ConvNet()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    for bx, by in MiniBatches(x, y, 40):
        loss = nn.functional.cross_entropy(net(bx), by)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), evaluate(net, vx, vy))
