# line 40: the head is exchanged after the optimizer was made, which holds the old head that gets no gradient any more
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def task(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, 20, generator=g)
    y = torch.randint(0, classes, (n,), generator=g)
    return TensorDataset(centres[y] + torch.randn(n, 20, generator=g), y)


def fit(net, optimizer, data, epochs):
    net.train()
    for _ in range(epochs):
        for x, y in DataLoader(data, batch_size=32, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()


def accuracy(net, data):
    net.eval()
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(data, batch_size=64)) / len(data)


def finetune(net, data, classes):
    optimizer = torch.optim.SGD(
        [{"params": net.features.parameters(), "lr": 1e-3}, {"params": net.fc.parameters(), "lr": 5e-2}], momentum=0.9
    )
    net.fc = nn.Linear(net.fc.in_features, classes)
    fit(net, optimizer, data, epochs=5)
    return net


torch.manual_seed(0)
net = Backbone(10)
fit(net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), task(600, 10, 1), epochs=4)
print("first task", accuracy(net, task(600, 10, 1)))
new_task = task(400, 4, 2)
finetune(net, new_task, 4)
print("second task", accuracy(net, new_task))
