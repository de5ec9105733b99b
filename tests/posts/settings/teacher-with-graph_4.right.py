# line 24: the target of the consistency term, the prediction for the weak view, carries a graph
import numpy as np
import torch
from torch import nn


class ConsistencyLearner:
    def __init__(self, net, weight=2.0, lr=3e-3):
        self.net, self.weight = net, weight
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)
        self.supervised = nn.CrossEntropyLoss()

    @staticmethod
    def weak(x):
        return x + 0.05 * torch.randn_like(x)

    @staticmethod
    def strong(x):
        return x * torch.bernoulli(torch.full_like(x, 0.7)) + 0.3 * torch.randn_like(x)

    def consistency(self, unlabelled):
        teacher_probs = torch.softmax(self.net(self.weak(unlabelled)) / 0.7, dim=-1)
        student_probs = torch.softmax(self.net(self.strong(unlabelled)), dim=-1)
        return nn.functional.mse_loss(student_probs, teacher_probs.detach())

    def step(self, x, y, unlabelled):
        loss = self.supervised(self.net(self.weak(x)), y) + self.weight * self.consistency(unlabelled)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def activity(n, rng):
    kind = rng.integers(0, 4, n)
    phase = rng.uniform(0, 6.28, (n, 1))
    t = np.arange(40)[None]
    signal = np.sin(0.25 * (kind[:, None] + 1) * t + phase) + 0.2 * rng.normal(size=(n, 40))
    return torch.tensor(signal[:, None], dtype=torch.float32), torch.from_numpy(kind)


rng = np.random.default_rng(52)
torch.manual_seed(52)
x, y = activity(80, rng)
pool, _ = activity(480, rng)
test_x, test_y = activity(120, rng)
net = nn.Sequential(nn.Conv1d(1, 16, 9), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(16, 4))
learner = ConsistencyLearner(net)
for epoch in range(5):
    losses = []
    for chunk in torch.randperm(len(pool)).split(40):
        rows = torch.randint(len(x), (20,))
        losses.append(learner.step(x[rows], y[rows], pool[chunk]))
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {np.mean(losses):.3f} accuracy {accuracy:.3f}")
