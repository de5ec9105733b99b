# line 21: unfreeze() builds a new optimizer with all weights; the scheduler goes on with the old one
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR


class TwoPhase:
    """The head first, then everything."""

    def __init__(self):
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Conv1d(2, 12, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.head = nn.Linear(48, 3)
        self.body.requires_grad_(False)
        self.opt = torch.optim.SGD(self.head.parameters(), lr=0.1)
        self.sched = StepLR(self.opt, step_size=2, gamma=0.5)

    def unfreeze(self):
        self.body.requires_grad_(True)
        params = [*self.body.parameters(), *self.head.parameters()]
        self.opt = torch.optim.SGD(params, lr=0.05, momentum=0.9)

    def epoch(self, x, y):
        for rows in torch.randperm(len(x)).split(20):
            loss = nn.functional.cross_entropy(self.head(self.body(x[rows])), y[rows])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()

    def fit(self, x, y, epochs=10, switch=4):
        for e in range(epochs):
            if e == switch:
                self.unfreeze()
            value = self.epoch(x, y)
            self.sched.step()
            print(e, self.opt.param_groups[0]["lr"], value)


g = torch.Generator().manual_seed(0)
y = torch.randint(3, (200,), generator=g)
t = torch.linspace(0, 6.28, 40)
x = torch.sin((y + 1).view(-1, 1, 1) * t) + 0.4 * torch.randn(200, 2, 40, generator=g)
TwoPhase().fit(x, y)
