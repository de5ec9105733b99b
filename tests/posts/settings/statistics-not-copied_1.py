# line 20: the average of the weights gets no running statistics of the batch norm and is evaluated with those of its construction
import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WeightAverage:
    def __init__(self, net, beta):
        self.beta, self.steps = beta, 0
        self.net = copy.deepcopy(net)
        self.net.requires_grad_(False)
        self.net.eval()

    def update(self, net):
        self.steps += 1
        beta = min(self.beta, (1 + self.steps) / (10 + self.steps))
        fast = dict(net.named_parameters())
        for name, slow in self.net.named_parameters():
            slow.data = beta * slow.data + (1 - beta) * fast[name].data


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3), nn.BatchNorm2d(12), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(12, 24, 3, stride=2), nn.BatchNorm2d(24), nn.ReLU())
        self.fc = nn.Linear(24, 3)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean((-2, -1)))


torch.manual_seed(64)
kind = torch.randint(3, (200,))
leaf = 2 + torch.randn(200, 3, 12, 12)
leaf[torch.arange(200), kind] += 0.7
train = DataLoader(TensorDataset(leaf[:160], kind[:160]), 20, shuffle=True)
net = LeafNet()
average = WeightAverage(net, 0.98)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    net.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
        average.update(net)
    with torch.no_grad():
        hits = (average.net(leaf[160:]).argmax(1) == kind[160:]).sum().item()
    print(epoch, hits / 40)
