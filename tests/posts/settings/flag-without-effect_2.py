# line 18: the warm-up sets optimizer.lr, an attribute that no optimizer reads
import torch
from torch import nn


class WarmupThenDecay:
    def __init__(self, optimizer, peak, warmup, total):
        self.optimizer = optimizer
        self.peak, self.warmup, self.total = peak, warmup, total
        self.t = 0

    def rate(self):
        if self.t < self.warmup:
            return self.peak * (self.t + 1) / self.warmup
        return self.peak * (self.total - self.t) / (self.total - self.warmup)

    def step(self):
        self.optimizer.lr = self.rate()
        self.t += 1


class Regressor(nn.Module):
    def __init__(self, d=5):
        super().__init__()
        self.w = nn.ModuleList([nn.Linear(d, 32), nn.Linear(32, 32), nn.Linear(32, 1)])

    def forward(self, x):
        for layer in self.w[:-1]:
            x = torch.selu(layer(x))
        return self.w[-1](x).flatten()


torch.manual_seed(0)
x = torch.randn(512, 5)
y = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2]
net = Regressor()
epochs, size = 6, 32
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
plan = WarmupThenDecay(opt, peak=1e-2, warmup=16, total=epochs * len(x) // size)
for epoch in range(epochs):
    for rows in torch.randperm(len(x)).split(size):
        plan.step()
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
