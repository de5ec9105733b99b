# line 27: a fairness penalty compares the rates of predicted classes (argmax), through which no gradient passes
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def applicants(n, seed):
    r = np.random.default_rng(seed)
    group = r.integers(0, 2, n)
    x = r.normal(size=(n, 5)) + 0.7 * group[:, None]
    y = (x[:, 0] + 0.5 * r.normal(size=n) > 0.4).astype(np.int64)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(group), torch.tensor(y)


class LoanModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 24)
        self.b = nn.Linear(24, 2)

    def forward(self, x):
        return self.b(F.mish(self.a(x)))


def parity_gap(scores, group):
    granted = scores.argmax(dim=-1).float()
    rate_a = granted[group == 0].mean()
    rate_b = granted[group == 1].mean()
    return (rate_a - rate_b).abs()


class FairTrainer:
    def __init__(self, weight):
        torch.manual_seed(0)
        self.model = LoanModel()
        self.weight = weight
        self.opt = torch.optim.Adam(self.model.parameters(), lr=0.01)

    def fit(self, x, group, y, epochs=15):
        for _ in range(epochs):
            for i in torch.randperm(len(x)).split(100):
                out = self.model(x[i])
                loss = F.cross_entropy(out, y[i]) + self.weight * parity_gap(out, group[i])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        return self

    @torch.no_grad()
    def report(self, x, group, y):
        self.model.eval()
        out = self.model(x)
        return (out.argmax(1) == y).float().mean().item(), parity_gap(out, group).item()


train, test = applicants(800, 1), applicants(400, 2)
print("accuracy, gap:", FairTrainer(weight=2.0).fit(*train).report(*test))
