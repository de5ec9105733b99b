# line 32: the parameters are collected module by module over modules(), so those of nested modules come several times
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class TabNet(nn.Module):
    def __init__(self, n_in=6, d=16):
        super().__init__()
        self.first = nn.Linear(n_in, d)
        self.blocks = nn.Sequential(Block(d), Block(d))
        self.last = nn.Linear(d, 1)

    def forward(self, x):
        return self.last(self.blocks(self.first(x))).squeeze(1)


def trainable(net, skip=()):
    found = []
    for name, module in net.named_modules():
        if module is net or name in skip:
            continue
        found.extend(p for p in module.parameters() if p.requires_grad)
    return found


def train(net, x, y, lr=0.01, epochs=10):
    opt = torch.optim.SGD(trainable(net), lr=lr, momentum=0.8)
    for epoch in range(epochs):
        for i in torch.randperm(len(x)).split(32):
            loss = nn.functional.mse_loss(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(0)
x = torch.randn(256, 6)
y = x[:, 0] * x[:, 1] + x[:, 2]
print("last loss", train(TabNet(), x, y))
