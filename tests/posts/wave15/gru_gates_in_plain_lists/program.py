import math

import torch
import torch.nn as nn


class StackedGRU(nn.Module):
    """our own GRU, so that the gates can be looked at while it runs"""

    def __init__(self, input_size, hidden_size, layn=2, bias=True):
        super().__init__()
        self.hidden_size = hidden_size
        self.layn = layn
        self.bias = bias
        self.x2h = []
        self.h2h = []
        for k in range(layn):
            n_in = input_size if k == 0 else hidden_size
            self.x2h.append(nn.Linear(n_in, 3 * hidden_size, bias=self.bias))
            self.h2h.append(nn.Linear(hidden_size, 3 * hidden_size, bias=self.bias))
        self.reset_parameters()

    def reset_parameters(self):
        std = 1.0 / math.sqrt(self.hidden_size)
        for layer in [*self.x2h, *self.h2h]:
            for w in layer.parameters():
                nn.init.uniform_(w, -std, std)

    def step(self, k, x, h):
        gx = self.x2h[k](x)
        gh = self.h2h[k](h)
        xr, xz, xn = gx.chunk(3, dim=-1)
        hr, hz, hn = gh.chunk(3, dim=-1)
        r = torch.sigmoid(xr + hr)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + r * hn)
        return (1 - z) * n + z * h

    def forward(self, x):
        state = [x.new_zeros(x.size(0), self.hidden_size) for _ in range(self.layn)]
        for t in range(x.size(1)):
            inp = x[:, t]
            for k in range(self.layn):
                state[k] = self.step(k, inp, state[k])
                inp = state[k]
        return inp


class Forecaster(nn.Module):
    def __init__(self, n_channels, hidden_size=24):
        super().__init__()
        self.rnn = StackedGRU(n_channels, hidden_size)
        self.out = nn.Linear(hidden_size, n_channels)

    def forward(self, x):
        return x[:, -1] + self.out(self.rnn(x))


def pendulum(n_steps=600, dt=0.05):
    """angle and speed of a damped pendulum that is pushed now and then"""
    gen = torch.Generator().manual_seed(4)
    th, om = torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
    rows = []
    for _ in range(n_steps):
        push = 3.0 * torch.randn((), dtype=torch.float64, generator=gen)
        om = om + dt * (-9.81 * torch.sin(th) - 0.1 * om + push)
        th = th + dt * om
        rows.append(torch.stack([th, om]))
    return torch.stack(rows)


def windows(series, length=20):
    x = series.unfold(0, length, 1)[:-1].transpose(1, 2)
    return x, series[length:]


def main():
    torch.manual_seed(0)
    series = pendulum()
    series = (series - series.mean(dim=0)) / series.std(dim=0)
    x, y = windows(series)

    model = Forecaster(n_channels=2)
    model.to(torch.float64)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(4):
        total = 0.0
        for idx in torch.randperm(len(x)).split(64):
            loss = torch.mean((model(x[idx]) - y[idx]) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print("epoch", epoch, "mse %.5f" % (total / len(x)))


if __name__ == "__main__":
    main()
