import torch
import torch.nn as nn


class Model(nn.Module):
    """Rain of the next frames and a class per sequence."""

    def __init__(self):
        super().__init__()
        self.frame = nn.Conv2d(1, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 16, 4, stride=4)
        self.lstm = nn.LSTM(16, 12)
        self.early = nn.Conv2d(4 * 8, 2, 1)
        self.gain = nn.Parameter(torch.ones(12, 1, 1))
        self.kind = nn.Linear(2 * 12, 6)

    def forward(self, radar):
        b, t = radar.shape[:2]
        x = radar.reshape(-1, *radar.shape[2:])
        x = self.frame(x).relu()
        # the last four frames side by side as channels
        recent = x.unflatten(0, (b, t))[:, -4:].flatten(1, 2)
        future = self.early(recent)

        y = self.down(x)
        # each cell of the 4 x 4 grid is a sequence of its own: (T, B * 16, C)
        y = y.unflatten(0, (b, -1)).permute(1, 0, 3, 4, 2).flatten(1, 3)
        out, (h, _) = self.lstm(y)
        grid = h[0].view(b, 4, 4, 12).movedim(-1, 1) * self.gain
        summary = torch.cat([grid.amax((-2, -1)), grid.flatten(-2).mean(-1)], -1)
        return future, self.kind(summary)


def example_inputs():
    return (torch.rand(3, 7, 1, 16, 16),)
