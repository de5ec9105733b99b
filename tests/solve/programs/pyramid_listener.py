"""The encoder of Listen, Attend and Spell: each layer halves the time."""

from torch import nn


class PyramidLSTM(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.lstm = nn.LSTM(
            2 * input_size, hidden_size, batch_first=True, bidirectional=True
        )

    def forward(self, x):
        B, T, F = x.shape
        x = x.contiguous().view(B, T // 2, 2 * F)
        out, _ = self.lstm(x)
        return out


class Listener(nn.Module):
    def __init__(self, features=10, hidden=4):
        super().__init__()
        self.bottom = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.pyramid = nn.ModuleList(
            [PyramidLSTM(2 * hidden, hidden) for _ in range(2)]
        )

    def forward(self, x):
        x, _ = self.bottom(x)
        for layer in self.pyramid:
            x = layer(x)
        return x
