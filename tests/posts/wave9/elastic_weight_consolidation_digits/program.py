from copy import deepcopy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, in_dim=196, hidden=64, out=10):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, out)

    def forward(self, x):
        x = F.relu(self.fc1(x.flatten(1)))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class ElasticWeightConsolidation:
    """keeps the weights that mattered for the tasks before"""

    def __init__(self, model, crit, lr=0.05, weight=1000.):
        self.model, self.weight, self.crit = model, weight, crit
        self.optimizer = torch.optim.SGD(model.parameters(), lr)
        self.means, self.fisher = {}, {}

    def register_ewc_params(self, dataset, batch_size, num_batches):
        self.means = {n: deepcopy(p.detach()) for n, p in self.model.named_parameters()}
        dl = DataLoader(dataset, batch_size, shuffle=True, drop_last=True)
        log_liklihoods = []
        for i, (input, target) in enumerate(dl):
            if i >= num_batches:
                break
            output = F.log_softmax(self.model(input), dim=1)
            log_liklihoods.append(output[:, target])
        log_likelihood = torch.cat(log_liklihoods).mean()
        grads = torch.autograd.grad(log_likelihood, list(self.model.parameters()))
        self.fisher = {n: g.detach() ** 2 for (n, _), g in zip(self.model.named_parameters(), grads)}

    def consolidation_loss(self):
        losses = [(self.fisher[n] * (p - self.means[n]) ** 2).sum() for n, p in self.model.named_parameters() if n in self.fisher]
        return (self.weight / 2) * sum(losses)

    def forward_backward_update(self, input, target):
        loss = self.consolidation_loss() + self.crit(self.model(input), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def task(seed, n=600):
    """permuted digits: every task has its own order of the pixels"""
    g = torch.Generator().manual_seed(seed)
    proto = torch.rand(10, 196, generator=torch.Generator().manual_seed(99))
    y = torch.randint(10, (n,), generator=g)
    x = proto[y] + 0.3 * torch.randn(n, 196, generator=g)
    return TensorDataset(x[:, torch.randperm(196, generator=g)].view(n, 1, 14, 14), y)


@torch.no_grad()
def accu(model, dataset):
    x, y = dataset.tensors
    return (model(x).argmax(1) == y).float().mean().item()


if __name__ == '__main__':
    torch.manual_seed(0)
    tasks = [task(1), task(2), task(3)]
    ewc = ElasticWeightConsolidation(MLP(), nn.CrossEntropyLoss())
    for k, data in enumerate(tasks):
        for epoch in range(8):
            for input, target in DataLoader(data, batch_size=100, shuffle=True):
                loss = ewc.forward_backward_update(input, target)
        ewc.register_ewc_params(data, batch_size=100, num_batches=5)
        print('after task', k, 'loss %.4f' % loss, ['%.3f' % accu(ewc.model, d) for d in tasks[:k + 1]])
