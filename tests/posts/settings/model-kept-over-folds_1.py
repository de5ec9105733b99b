# line 16: the net of the cross validation is built once in __init__ and goes on over all folds
import numpy as np
import torch
from torch import nn


def kfold(n, k, rng):
    order = rng.permutation(n)
    for part in np.array_split(order, k):
        yield np.setdiff1d(order, part), part


class CrossValidator:
    def __init__(self, k, lr, epochs):
        self.k, self.lr, self.epochs = k, lr, epochs
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))

    def _fit(self, x, y):
        opt = torch.optim.Adam(self.net.parameters(), lr=self.lr)
        self.net.train()
        for _ in range(self.epochs):
            for i in torch.randperm(len(x)).split(20):
                opt.zero_grad()
                nn.functional.cross_entropy(self.net(x[i]), y[i]).backward()
                opt.step()

    def _score(self, x, y):
        self.net.eval()
        with torch.no_grad():
            return (self.net(x).argmax(1) == y).float().mean().item()

    def run(self, x, y):
        rng = np.random.default_rng(0)
        scores = []
        for train_idx, test_idx in kfold(len(x), self.k, rng):
            self._fit(x[train_idx], y[train_idx])
            scores.append(self._score(x[test_idx], y[test_idx]))
        return scores


torch.manual_seed(0)
x = torch.randn(150, 10)
y = torch.randint(2, (150,))
scores = CrossValidator(k=5, lr=0.01, epochs=20).run(x, y)
print(scores, sum(scores) / len(scores))
