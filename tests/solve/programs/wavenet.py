import torch
from torch import nn


class ResidualLayer(nn.Module):
    def __init__(self, channels, skip_channels, dilation):
        super().__init__()
        self.dilated = nn.Conv1d(channels, 2 * channels, 2, dilation=dilation)
        self.residual = nn.Conv1d(channels, channels, 1)
        self.skip = nn.Conv1d(channels, skip_channels, 1)

    def forward(self, x):
        out = self.dilated(x)
        gate, signal = out.chunk(2, dim=1)
        out = torch.sigmoid(gate) * torch.tanh(signal)
        res = self.residual(out)
        return res + x[:, :, -res.size(2) :], self.skip(out)


class WaveNet(nn.Module):
    def __init__(self, layers=4, blocks=2, channels=8, classes=16):
        super().__init__()
        self.causal = nn.Conv1d(1, channels, 2)
        dilations = [2**i for i in range(layers)] * blocks
        self.layers = nn.ModuleList(
            ResidualLayer(channels, channels, dilation) for dilation in dilations
        )
        self.receptive_field = 2 + sum(dilations)
        self.end = nn.Conv1d(channels, classes, 1)

    def forward(self, x):
        output_size = x.size(2) - self.receptive_field + 1
        x = self.causal(x)
        total = 0
        for layer in self.layers:
            x, skip = layer(x)
            total = total + skip[:, :, -output_size:]
        return self.end(torch.relu(total))
