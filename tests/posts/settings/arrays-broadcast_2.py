# line 18: the accuracy compares a column of sigmoid decisions (n, 1) with labels (n,) in numpy: mean of an n x n table
import numpy as np
import torch
import torch.nn as nn


class Scoring:
    def __init__(self):
        self.scores, self.labels = [], []

    def add(self, scores, labels):
        self.scores.append(scores.detach().numpy())
        self.labels.append(labels.numpy())

    def accuracy(self, cut=0.5):
        scores, labels = np.vstack(self.scores), np.hstack(self.labels)
        decided = scores >= cut
        return float(np.mean(decided == labels.astype(bool)))


class PairMatcher(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(d, 16), nn.Tanh())
        self.join = nn.Linear(16, 1)

    def forward(self, a, b):
        return self.join((self.tower(a) - self.tower(b)).abs())


def pairs(n):
    y = torch.randint(2, (n,))
    a = torch.randn(n, 8)
    b = torch.where(y[:, None] == 1, a + 0.2 * torch.randn(n, 8), torch.randn(n, 8))
    return a, b, y


torch.manual_seed(0)
net = PairMatcher()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
bce = nn.BCEWithLogitsLoss()
for it in range(120):
    a, b, y = pairs(32)
    opt.zero_grad()
    bce(net(a, b).squeeze(-1), y.float()).backward()
    opt.step()
net.eval()
tally = Scoring()
with torch.no_grad():
    for _ in range(5):
        a, b, y = pairs(40)
        tally.add(torch.sigmoid(net(a, b)), y)
print("accuracy", tally.accuracy())
