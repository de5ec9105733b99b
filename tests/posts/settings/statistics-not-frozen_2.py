# line 15: the frozen encoder stays in training mode in the linear probe: its batch norm goes on updating the running statistics
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def encoder():
    return nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8), nn.BatchNorm1d(8))


class Probe:
    """Linear classifier on fixed features."""

    def __init__(self, enc, n_classes, lr):
        self.enc = enc.requires_grad_(False)
        self.lin = nn.Linear(8, n_classes)
        self.opt = torch.optim.SGD(self.lin.parameters(), lr=lr, momentum=0.9)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for x, y in loader:
                loss = nn.functional.cross_entropy(self.lin(self.enc(x)), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

    def score(self, x, y):
        self.enc.eval()
        with torch.no_grad():
            return (self.lin(self.enc(x)).argmax(1) == y).float().mean().item()


def pretrain(enc, x, steps=80):
    dec = nn.Linear(8, 12)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=5e-3)
    enc.train()
    for _ in range(steps):
        xb = x[torch.randint(len(x), (64,))]
        loss = (dec(enc(xb)) - xb).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return enc


torch.manual_seed(0)
x = torch.randn(600, 4) @ torch.randn(4, 12)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
enc = pretrain(encoder(), x)
probe = Probe(enc, 3, 0.05)
probe.fit(DataLoader(TensorDataset(x[:200] * 1.5, y[:200]), 20, shuffle=True), epochs=5)
print("probe", probe.score(x[300:] * 1.5, y[300:]))
