# line 24: setattr changes out_features of the last Linear of the chain, whose weight still has ten rows
import torch
from torch import nn


def build_mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.GELU()]
    return nn.Sequential(*layers[:-1])


class Adapter:
    """Prepares a network for a task with other classes than it was built for."""

    def __init__(self, net):
        self.net = net

    def last_linear(self):
        return max(i for i, layer in enumerate(self.net) if isinstance(layer, nn.Linear))

    def to_classes(self, classes):
        i = self.last_linear()
        setattr(self.net[i], "out_features", classes)
        return self.net


def fit(net, x, y, epochs, lr=4e-3):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    net.train()
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(30):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
    return total / len(x)


torch.manual_seed(91)
readings = torch.randn(600, 12)
ten_kinds = (readings[:, :3].sum(1) * 2).round().clamp(-5, 4).long() + 5
net = build_mlp([12, 48, 32, 10])
print("first task", fit(net, readings, ten_kinds, 5))
faulty = torch.randn(150, 12)
three_kinds = (faulty[:, 0] > 0.5).long() + (faulty[:, 1] > 0.5).long()
net = Adapter(net).to_classes(3)
print("second task", fit(net, faulty, three_kinds, 5))
print(net)
