# line 18: the time-first output of the bidirectional RNN is read at its last step, where the backward half has seen one step
import torch
from torch import nn


class GaitRegressor(nn.Module):
    """Walking speed from accelerations, laid out (time, batch, axes)."""

    def __init__(self, axes=3, width=24):
        super().__init__()
        self.norm = nn.LayerNorm(axes)
        self.rnn = nn.RNN(axes, width, num_layers=2, bidirectional=True)
        self.drop = nn.Dropout(0.1)
        self.speed = nn.Linear(2 * width, 1)

    def summary(self, signal):
        states, final = self.rnn(self.norm(signal))
        return torch.cat([final[-2], final[-1]], dim=-1)

    def forward(self, signal):
        return self.speed(self.drop(self.summary(signal))).squeeze(-1)


def walks(n, steps=30):
    speed = 0.8 + torch.rand(n)
    t = torch.arange(steps).view(-1, 1) / 5.0
    phase = 6.28 * torch.rand(1, n)
    axes = [torch.sin(speed * t * 2 + phase), torch.cos(speed * t + phase), speed * torch.sin(t + phase)]
    return torch.stack(axes, dim=-1) + 0.1 * torch.randn(steps, n, 3), speed


class Fit:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, signal, speed, size=40):
        self.model.train()
        total = 0.0
        for columns in torch.randperm(len(speed)).split(size):
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(signal[:, columns]), speed[columns])
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(columns)
        return total / len(speed)

    @torch.no_grad()
    def mae(self, signal, speed):
        self.model.eval()
        return (self.model(signal) - speed).abs().mean().item()


torch.manual_seed(1)
fit = Fit(GaitRegressor())
train, test = walks(400), walks(100)
for k in range(8):
    print(k, fit.epoch(*train), fit.mae(*test))
