# line 41: the accuracy of the epoch is the count of hits over len(loader), the number of batches
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Parity(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.bits = torch.randint(2, (n, 6), generator=g)

    def __len__(self):
        return len(self.bits)

    def __getitem__(self, i):
        b = self.bits[i]
        return b.float() * 2 - 1, b[:3].sum() % 2


class Meter(dict):
    def add(self, key, value):
        self[key] = self.get(key, 0) + value

    def averaged(self, n):
        return {k: v / n for k, v in self.items()}


def run_epoch(net, loader, opt=None):
    net.train(opt is not None)
    meter = Meter()
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            out = net(x)
            loss = nn.functional.cross_entropy(out, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            meter.add("loss", loss.item())
            meter.add("accuracy", (out.detach().argmax(1) == y).sum().item())
    return meter.averaged(len(loader))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
train = DataLoader(Parity(320, 0), 32, shuffle=True)
val = DataLoader(Parity(128, 1), 32)
for epoch in range(4):
    run_epoch(net, train, opt)
    print(epoch, run_epoch(net, val))
