# line 37: copy.copy of the state dict copies only its names, so the best weights change with the training
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

settings = {"epochs": 15, "lr": 0.05, "batch": 16, "width": 64}


def crops(n):
    soil = torch.randn(n, 7)
    good = (soil[:, 0] - soil[:, 1] * soil[:, 2] + 0.8 * torch.randn(n) > 0).long()
    return TensorDataset(soil, good)


def accuracy(net, data):
    net.eval()
    hits = 0
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=64):
            hits += (net(x).argmax(-1) == y).sum().item()
    return hits / len(data)


def fit(net, train, valid, cfg):
    opt = torch.optim.SGD(net.parameters(), lr=cfg["lr"], momentum=0.9)
    record = {"epoch": -1, "accuracy": -1.0, "weights": None}
    for epoch in range(cfg["epochs"]):
        net.train()
        for x, y in DataLoader(train, batch_size=cfg["batch"], shuffle=True):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
        now = accuracy(net, valid)
        if now > record["accuracy"]:
            record.update(epoch=epoch, accuracy=now, weights=copy.deepcopy(net.state_dict()))
    net.load_state_dict(record["weights"])
    return record


torch.manual_seed(2)
train, valid, test = crops(120), crops(100), crops(300)
net = nn.Sequential(nn.Linear(7, settings["width"]), nn.ReLU(), nn.Linear(settings["width"], 2))
record = fit(net, train, valid, settings)
print("best epoch", record["epoch"], "valid", record["accuracy"])
print("valid after loading", accuracy(net, valid), "test", accuracy(net, test))
