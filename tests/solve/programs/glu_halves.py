import torch
from torch import nn


class SimpleGate(nn.Module):
    """The gate of NAFNet: one half of the channels times the other."""

    def forward(self, x):
        x1, x2 = x.chunk(2, dim=1)
        return x1 * x2


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = SimpleGate()
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.gate(x) * self.gain
