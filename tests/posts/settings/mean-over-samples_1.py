# line 45: the running loss adds batch means and is divided by the number of samples seen
import torch
import torch.nn as nn


class AverageMeter:
    def __init__(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class Denoise(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 24))

    def forward(self, x):
        return self.f(x)


def batches(x, size, shuffle):
    order = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for rows in order.split(size):
        yield x[rows]


def epoch(net, x, criterion, opt=None, size=20):
    meter = AverageMeter()
    net.train(opt is not None)
    for clean in batches(x, size, opt is not None):
        with torch.set_grad_enabled(opt is not None):
            loss = criterion(net(clean + 0.2 * torch.randn_like(clean)), clean)
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            opt.step()
        meter.update(loss.item(), clean.size(0))
    return meter.avg


torch.manual_seed(0)
x = torch.randn(260, 5) @ torch.randn(5, 24)
net, crit = Denoise(), nn.SmoothL1Loss()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for e in range(4):
    print(e, epoch(net, x[:200], crit, opt), epoch(net, x[200:], crit))
