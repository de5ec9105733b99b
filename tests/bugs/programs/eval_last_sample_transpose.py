import torch
import torch.nn as nn


class Model(nn.Module):
    """Sensor windows (B, 1, T, F) -> per-step scores."""

    def __init__(self, n_features=6, hidden=16):
        super().__init__()
        self.smooth = nn.Conv2d(1, 1, (3, 1), padding=(1, 0))
        self.conv = nn.Conv1d(n_features, hidden, 5, padding=2)
        self.score = nn.Linear(hidden, 4)

    def forward(self, window):
        x = self.smooth(window)
        x = x.squeeze()
        x = x.transpose(1, 2)
        x = torch.relu(self.conv(x))
        x = x.transpose(1, 2)
        return self.score(x)


def batches(data, size):
    for i in range(0, len(data), size):
        yield data[i : i + size]


def example_inputs():
    data = torch.randn(9, 1, 32, 6)
    *_, last = batches(data, size=4)  # one sample is left over
    return (last,)
