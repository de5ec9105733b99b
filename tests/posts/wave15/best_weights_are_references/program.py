import math

import torch
import torch.nn as nn


class WaveNet(nn.Module):
    """a smooth curve as a small network of sines"""

    def __init__(self, hidden=48):
        super().__init__()
        self.first = nn.Linear(1, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.sin(4 * self.first(x))
        x = torch.sin(self.second(x))
        return self.last(x)


class BestKeeper:
    """remembers the iteration with the lowest loss, as the optimizer overshoots"""

    def __init__(self, model):
        self.model = model
        self.lowest = math.inf
        self.iteration = -1
        self.state = None

    def offer(self, iteration, loss):
        if loss < self.lowest:
            self.lowest = loss
            self.iteration = iteration
            self.state = self.model.state_dict()

    def restore(self):
        self.model.load_state_dict(self.state)
        return self.iteration, self.lowest


def measured_curve(n=120):
    gen = torch.Generator().manual_seed(41)
    x = torch.linspace(-1, 1, n).unsqueeze(1)
    y = torch.sin(5 * x) * torch.exp(-x ** 2) + 0.3 * torch.sign(x - 0.4)
    return x, y + 0.02 * torch.randn(n, 1, generator=gen)


@torch.no_grad()
def mean_square(model, x, y):
    return torch.mean((model(x) - y) ** 2).item()


def fit(model, x, y, iterations=250, lr=0.03):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    keeper = BestKeeper(model)
    for it in range(iterations):
        keeper.offer(it, mean_square(model, x, y))
        some = torch.randint(len(x), (16,))
        loss = torch.mean((model(x[some]) - y[some]) ** 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 60 == 0:
            print("iteration %3d loss %.5f" % (it, loss.item()))
    return keeper


def main():
    torch.manual_seed(2)
    x, y = measured_curve()
    model = WaveNet()
    keeper = fit(model, x, y)
    print("after the last iteration %.6f" % mean_square(model, x, y))
    iteration, lowest = keeper.restore()
    print("best was iteration %d with %.6f" % (iteration, lowest))
    print("restored model %.6f" % mean_square(model, x, y))


if __name__ == "__main__":
    main()
