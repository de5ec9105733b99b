import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.LSTM(3, 8, batch_first=True)
        self.o = nn.Linear(8, 12)

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        std = x.std(1, keepdim=True)
        y, (h, _) = self.r((x - mean) / std)
        out = self.o(h[-1]).view(-1, 4, 3)
        return out * std + mean, self.o(y[:, -1]), y.mean(1)


def example_inputs():
    return (torch.randn(5, 20, 3),)
