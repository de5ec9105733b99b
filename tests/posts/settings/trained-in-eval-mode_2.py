# line 24: train(False) of the evaluation is never undone: from the second epoch batch norm is in evaluation mode while training
import numpy as np
import torch
from torch import nn


def make_net():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 2),
    )


def stripes(n, rng):
    y = rng.integers(0, 2, n)
    wave = np.sin(np.arange(16) * 1.5 + rng.uniform(0, 6, (n, 1)))
    img = np.where(y[:, None, None] == 1, wave[:, :, None], wave[:, None, :]) + rng.normal(size=(n, 16, 16))
    return torch.tensor(img[:, None], dtype=torch.float32), torch.tensor(y)


@torch.no_grad()
def accuracy(net, x, y):
    net.train(False)
    guess = torch.cat([net(part).argmax(1) for part in x.split(50)])
    return guess.eq(y).float().mean().item()


def main(epochs=4):
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    x, y = stripes(240, rng)
    vx, vy = stripes(100, rng)
    net = make_net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    best = 0.0
    for epoch in range(epochs):
        for i in torch.randperm(240).split(24):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x[i]), y[i])
            loss.backward()
            opt.step()
        best = max(best, accuracy(net, vx, vy))
        print(epoch, loss.item(), best)


main()
