import torch
import torch.nn as nn


class Model(nn.Module):
    """Activity recognition from a phone's accelerometer."""

    def __init__(self, n_channels=6, hidden=20, n_activities=5):
        super().__init__()
        self.bn = nn.BatchNorm1d(n_channels)
        self.gru = nn.GRU(n_channels, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Linear(hidden, n_activities)

    def forward(self, window):
        # (batch, time, channels) -> normalise channels -> back
        x = self.bn(window.permute(0, 2, 1)).permute(0, 2, 1)
        out, _ = self.gru(x)
        last = out[-1]
        logits = self.fc(last)
        return logits


def sliding_windows(stream, width, step):
    return stream.unfold(0, width, step).transpose(1, 2).contiguous()


def example_inputs():
    stream = torch.randn(50 + 11 * 25, 6)
    return (sliding_windows(stream, width=50, step=25),)
