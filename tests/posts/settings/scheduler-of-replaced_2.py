# line 38: after the Adam phase SWATS-like code switches to SGD and the LambdaLR of Adam is stepped on
import numpy as np
import torch
from torch import nn


def corpus(n, seed):
    r = np.random.default_rng(seed)
    topic = r.integers(0, 3, n)
    counts = r.poisson(0.4, (n, 30)) + r.poisson(1.0, (n, 30)) * (np.arange(30) % 3 == topic[:, None])
    return torch.tensor(counts, dtype=torch.float32), torch.tensor(topic)


def make_optimizer(kind, net):
    table = {"adam": (torch.optim.Adam, dict(lr=5e-3)), "sgd": (torch.optim.SGD, dict(lr=0.05, momentum=0.9))}
    cls, kw = table[kind]
    return cls(net.parameters(), **kw)


def one_epoch(net, optimizer, x, y):
    for i in torch.randperm(len(x)).split(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        loss.backward()
        optimizer.step()
    return loss.item()


def train(phases, x, y):
    net = nn.Sequential(nn.Linear(30, 24), nn.ReLU(), nn.Linear(24, 3))
    (kind, length), *later = phases
    optimizer = make_optimizer(kind, net)
    decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 0.8 ** e)
    for _ in range(length):
        one_epoch(net, optimizer, x, y)
        decay.step()
    for kind, length in later:
        optimizer = make_optimizer(kind, net)
        for _ in range(length):
            value = one_epoch(net, optimizer, x, y)
            decay.step()
        print(kind, value)
    return net


torch.manual_seed(0)
x, y = corpus(300, 0)
net = train([("adam", 4), ("sgd", 5)], x, y).eval()
with torch.no_grad():
    tx, ty = corpus(100, 1)
    print("accuracy", (net(tx).argmax(1) == ty).float().mean().item())
