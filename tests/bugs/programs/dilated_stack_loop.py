import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class DilatedStack(nn.Module):
    def __init__(self, in_channels, width, n_layers, kernel_size=3):
        super().__init__()
        self.convs = nn.ModuleList()
        self.norms = nn.ModuleList()
        for i in range(n_layers):
            d = 2**i
            conv = nn.Conv1d(in_channels, width, kernel_size, padding=d, dilation=d)
            self.convs.append(weight_norm(conv))
            self.norms.append(nn.BatchNorm1d(width))

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = norm(torch.relu(conv(x)))
        return x


class Model(nn.Module):
    """Sleep stage per window from two EEG channels."""

    def __init__(self, channels=2, width=24, layers=4, stages=5):
        super().__init__()
        self.stack = DilatedStack(channels, width, layers)
        self.out = nn.Conv1d(width, stages, 1)

    def forward(self, eeg):
        h = self.stack(eeg)
        return self.out(h).mean(dim=-1)


def example_inputs():
    return (torch.randn(6, 2, 200),)
