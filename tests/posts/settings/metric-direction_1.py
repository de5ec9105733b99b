# line 23: the early stopping keeps the weights with the lowest F1 score as the best ones
import copy

import torch
from torch import nn


def macro_f1(guess, truth, classes):
    scores = []
    for c in range(classes):
        tp = ((guess == c) & (truth == c)).sum().item()
        wrong = ((guess == c) ^ (truth == c)).sum().item()
        scores.append(2 * tp / max(2 * tp + wrong, 1))
    return sum(scores) / classes


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.bad = patience, 0
        self.best_f1, self.state = None, None

    def stop(self, f1, model):
        if self.best_f1 is None or f1 < self.best_f1:
            self.best_f1, self.bad = f1, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad > self.patience


torch.manual_seed(84)
kind = torch.randint(3, (300,))
flow = torch.randn(300, 10) + nn.functional.one_hot(kind, 10) * 1.5
net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
stopper = EarlyStopping(patience=3)
for epoch in range(12):
    net.train()
    for rows in torch.randperm(240).split(24):
        opt.zero_grad()
        nn.functional.cross_entropy(net(flow[rows]), kind[rows]).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        f1 = macro_f1(net(flow[240:]).argmax(1), kind[240:], 3)
    if stopper.stop(f1, net):
        break
net.load_state_dict(stopper.state)
print("stopped after", epoch, "best f1", stopper.best_f1)
