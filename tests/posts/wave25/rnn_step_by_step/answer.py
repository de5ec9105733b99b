import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class StepRNN(nn.Module):
    """Recurrent network that sees one time step per call."""

    def __init__(self, n_in, n_hidden, n_out, lr=0.01):
        super().__init__()
        self.n_hidden = n_hidden
        self.i2h = nn.Linear(n_in, n_hidden)
        self.h2h = nn.Linear(n_hidden, n_hidden, bias=False)
        self.h2o = nn.Linear(n_hidden, n_out)
        self.loss = nn.MSELoss()
        self.reset()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)

    def reset(self):
        self.hidden = torch.zeros(1, self.n_hidden)

    def forward(self, x):
        hidden = torch.tanh(self.i2h(x) + self.h2h(self.hidden))
        self.hidden = hidden.detach()
        return self.h2o(hidden)

    def train_it(self, x, y):
        self.optimizer.zero_grad()
        prediction = self(x)
        loss = self.loss(prediction, y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def make_signal(length):
    t = torch.arange(length + 1, dtype=torch.float32)
    wave = torch.sin(2 * math.pi * t / 25) + 0.3 * torch.sin(2 * math.pi * t / 7)
    return wave.unsqueeze(1)


def evaluate(model, signal):
    model.reset()
    errors = []
    with torch.no_grad():
        for k in range(len(signal) - 1):
            out = model(signal[k:k + 1])
            errors.append((out - signal[k + 1:k + 2]).pow(2).item())
    model.reset()
    return sum(errors) / len(errors)


if __name__ == "__main__":
    signal = make_signal(200)
    model = StepRNN(1, 24, 1)
    for epoch in range(5):
        model.reset()
        total = 0.0
        for k in range(len(signal) - 1):
            total += model.train_it(signal[k:k + 1], signal[k + 1:k + 2])
        print("epoch %d  train %.4f  eval %.4f" % (epoch, total / (len(signal) - 1), evaluate(model, signal)))
