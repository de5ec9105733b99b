# line 11: after each pruning the optimizer is made anew, while StepLR still changes the rate of the first one
import torch
import torch.nn as nn
from torch.nn.utils import prune


class PruningRun:
    def __init__(self, net, lr=0.1, rounds=3, epochs=4):
        self.net, self.lr, self.rounds, self.epochs = net, lr, rounds, epochs
        self._new_optimizer()
        self.decay = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=2, gamma=0.3)

    def _new_optimizer(self):
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=self.lr, momentum=0.8)

    def _prune(self, share):
        for layer in self.net:
            if isinstance(layer, nn.Linear):
                prune.l1_unstructured(layer, "weight", amount=share)
        self._new_optimizer()

    def _epoch(self, x, y):
        self.net.train()
        for rows in torch.randperm(len(x)).split(32):
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.net(x[rows]), y[rows]).backward()
            self.optimizer.step()
        self.decay.step()

    @torch.no_grad()
    def accuracy(self, x, y):
        self.net.eval()
        return (self.net(x).argmax(1) == y).float().mean().item()

    def run(self, train, test):
        for k in range(self.rounds):
            if k:
                self._prune(0.3)
            for _ in range(self.epochs):
                self._epoch(*train)
            print("round", k, "accuracy", self.accuracy(*test), "lr", self.optimizer.param_groups[0]["lr"])


def spectra(n):
    y = torch.randint(0, 5, (n,))
    band = torch.arange(30.0)
    peak = torch.exp(-((band - 3 - 6 * y[:, None]) ** 2) / 8)
    return peak + 0.4 * torch.randn(n, 30), y


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 5))
PruningRun(net).run(spectra(500), spectra(200))
