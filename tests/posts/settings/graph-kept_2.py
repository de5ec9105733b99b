# line 32: the replay list of the value predictions keeps the network's outputs with their graphs for the whole run
import collections
import torch
from torch import nn


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, s):
        return self.f(s)


class Agent:
    def __init__(self):
        self.q = QNet()
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.stats = collections.defaultdict(list)

    def learn(self, s, a, r):
        estimate = self.q(s).gather(1, a[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(estimate, r)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.record(loss=loss.item(), q_mean=estimate.mean())

    def record(self, **kw):
        for name, value in kw.items():
            self.stats[name].append(value)

    def summary(self):
        return {k: float(sum(v[-20:]) / len(v[-20:])) for k, v in self.stats.items()}


torch.manual_seed(0)
agent = Agent()
for step in range(120):
    s = torch.randn(32, 4)
    a = torch.randint(2, (32,))
    r = torch.where(a == 1, s[:, 0], s[:, 1])
    agent.learn(s, a, r)
    if step % 40 == 39:
        print(step, agent.summary())
