import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """CAPTCHA reader: convolutions, then a GRU from left to right, then CTC."""

    def __init__(self, n_chars=19, hidden=24):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.pool1 = nn.MaxPool2d((2, 2))
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool2 = nn.MaxPool2d((2, 2))
        self.linear1 = nn.Linear(16 * 6, 32)
        self.gru = nn.GRU(32, hidden, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * hidden, n_chars + 1)

    def forward(self, images):
        f = self.pool1(F.relu(self.conv1(images)))
        f = self.pool2(F.relu(self.conv2(f)))
        b, c, h, w = f.size()
        f = f.reshape(b, w, c * h)
        f = F.relu(self.linear1(f))
        f, _ = self.gru(f)
        f = self.output(f)
        return F.log_softmax(f.permute(1, 0, 2), dim=2)


def example_inputs():
    return (torch.rand(3, 1, 24, 80),)
